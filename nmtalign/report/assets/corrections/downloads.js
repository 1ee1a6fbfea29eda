// Corrections and gold links as files.

import { data, download } from "../page.js";
import { byNumber, positions } from "../pairs/pairs.js";
import { catchUp, notShown, reviewed } from "./corrections.js";
import { toRecord } from "./records.js";

export function lineOf(links) {
  const inOrder = ([a], [b]) => {
    const [s, t] = positions(a);
    const [x, y] = positions(b);
    return s - x || t - y;
  };
  return [...links]
    .sort(inOrder)
    .map(([key, sure]) => (sure ? key : key.replace("-", "p")))
    .join(" ");
}

// The gold that the report was made with, also of pairs that it does not show.
const inherited = (n) => data.rest[n] ?? lineOf(byNumber.get(`pair-${n}`)?.inherited ?? []);

// Line n is that of pair n of the text: as it was corrected, else as it was given.
function goldLines() {
  const numbers = Array.from({ length: data.lines }, (_, i) => i + 1);
  return numbers.map((n) => `${reviewed.has(n) ? lineOf(reviewed.get(n).links) : inherited(n)}\n`);
}

// All of this text, also of pairs that this page does not show; what was saved is returned.
export function downloadCorrections() {
  catchUp();
  const sorted = [...reviewed].sort(([a], [b]) => a - b);
  const lines = sorted.map(([n, correction]) => `${JSON.stringify(toRecord(n, correction))}\n`);
  download("corrections.jsonl", lines);
  const hidden = notShown();
  const of = hidden ? `, ${hidden} of them of pairs that are not shown here` : "";
  return `corrections.jsonl: corrections of ${lines.length} pairs${of}`;
}

export function downloadGold() {
  catchUp();
  const lines = goldLines();
  download("gold.pharaoh", lines);
  const filled = lines.filter((line) => line !== "\n").length;
  const own = [...reviewed.values()].filter(({ links }) => links.size).length;
  return `gold.pharaoh: links of ${filled} pairs, ${own} of them corrected`;
}

// Correcting links. What is corrected stays in this browser, pair by pair, so that any report of the same text finds
// it. It is downloaded as corrections, which are opened again, or as gold links, a line for each pair of the text.
// After a correction all that counts errors is counted anew, or says that it is as reported.

import { byId, data, download, html, root, state } from "../page.js";
import { byNumber, pairs, positions } from "../pairs/pairs.js";
import {
  catchUp,
  correct,
  goBack,
  newer,
  notShown,
  reviewed,
  reviewedPairs,
  say,
  setReviewed,
  tellReview,
  who,
} from "../corrections/corrections.js";
import { browser, readKept, store, stored } from "../corrections/kept.js";
import { fromRecord, toRecord } from "../corrections/records.js";
import { draw } from "../pairs/cards.js";
import { bring, shownPairs } from "../list.js";
import { recountErrors } from "./errors.js";
import { doubt, recountRows, sortPairs } from "./index.js";
import { tellTotals } from "./summary.js";

const NAME = "nmtalign-name";
let telling = null; // when some corrections, one after the other, are told of once

export function makeEditor() {
  const tool = (name, act) => {
    const button = html("button", { type: "button" }, name);
    button.addEventListener("click", act);
    return button;
  };
  const file = html("input", { type: "file", accept: ".jsonl", "aria-label": "Corrections to open", hidden: "" });
  const name = html("input", { "aria-label": "Who corrects", placeholder: "Your name", size: 10 });
  file.addEventListener("change", () => openFile(file));
  name.addEventListener("change", () => {
    who.name = name.value;
    store(NAME, who.name);
  });
  byId("editor").append(
    name,
    tool("Next least certain", nextPair),
    tool("Least certain first", leastCertainFirst),
    tool("Undo", () => goStep(true)),
    tool("Redo", () => goStep(false)),
    tool("Download corrections", downloadCorrections),
    tool("Open corrections", () => file.click()),
    file,
    tool("Download gold", downloadGold),
    html("span", { role: "status" }),
    html("span", { id: "said" }),
  );
  document.addEventListener("keydown", (event) => {
    const back = { z: !event.shiftKey, Z: false, y: false }[event.key];
    if (!state.edit || back === undefined || event.target.matches("input")) return;
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    goStep(back);
  });
  document.addEventListener("corrected", ({ detail: { pair } }) => {
    if (pair?.card) {
      keepInPlace(pair, () => {
        tellReview(pair);
        draw(pair);
      });
    }
    telling ??= Promise.resolve().then(() => {
      telling = null;
      keepInPlace(pair, () => {
        tellCount();
        recountRows();
        recountErrors();
        tellTotals();
      });
    });
  });
  if (root.dataset.kind !== "cards") {
    window.addEventListener("storage", ({ key }) => catchUp(key));
    window.addEventListener("pageshow", () => catchUp()); // a page that was left and is come back to hears of nothing
    restore();
  }
  name.value = who.name;
}

// Change the page, but not where the words of a card are: they may be under the pointer.
function keepInPlace(pair, change) {
  const place = () => pair?.card?.querySelector(".sentences").getBoundingClientRect().top ?? 0;
  const before = place();
  change();
  window.scrollBy(0, place() - before);
}

function goStep(back) {
  const [first] = goBack(back).map((n) => byNumber.get(`pair-${n}`));
  if (first) bring(first);
}

export function showEditor() {
  byId("editor").hidden = !state.edit;
  root.toggleAttribute("data-edit", state.edit);
  tellCount();
}

function tellCount() {
  const count = reviewedPairs().length;
  const others = notShown() ? `, ${notShown()} others of this text` : "";
  const kept = browser.keeps
    ? "kept in this browser"
    : "which this browser does not keep: download before you leave";
  byId("editor").querySelector("span").textContent =
    `${count} of ${pairs.length} pairs reviewed${others}, ${kept}`;
}

function byDoubt() {
  const doubts = new Map(pairs.map((pair) => [pair, doubt(pair)]));
  return [...pairs].sort((a, b) => doubts.get(b) - doubts.get(a) || a.n - b.n);
}

function nextPair() {
  const seen = new Set(shownPairs());
  const next = byDoubt().find((pair) => !pair.reviewed && seen.has(pair));
  if (next) window.location.hash = `pair-${next.n}`;
  else byId("live").textContent = "All pairs are reviewed";
}

function leastCertainFirst() {
  for (const head of byId("index").querySelectorAll("th")) head.removeAttribute("aria-sort");
  sortPairs(() => byDoubt().forEach((pair, i) => (pairs[i] = pair)));
}

// What was corrected before: in the file that the report was made with, and in this browser, if that is not older.
function restore() {
  const known = new Map(data.corrections.map(fromRecord).filter(Boolean));
  for (const pair of pairs) pair.isOfFile = known.has(pair.n);
  for (const { n, at, correction } of readKept()) {
    if (at <= (known.get(n)?.at ?? "")) continue;
    if (correction) known.set(n, correction);
    else known.delete(n);
  }
  for (const [n, correction] of known) setReviewed(n, correction, false);
  who.name = stored(NAME) ?? "";
  if (known.size) tellFound([...known.values()].map(({ at, by }) => [at, by]));
}

function tellNotice(text) {
  byId("kept").hidden = false;
  byId("kept").textContent = text;
}

function tellFound(found) {
  const [at, by] = found.sort().at(-1);
  const last = `the last ${at.slice(0, 10)}${by ? ` by ${by}` : ""}`;
  const before = `${found.length} pair${found.length === 1 ? " was" : "s were"} reviewed before, ${last}`;
  const hidden = notShown();
  const gold = data.corrections.length ? "Your corrections now serve as gold for these pairs. " : "";
  const told = `${gold}Tick “edit links” to continue.`;
  if (hidden === found.length) {
    return tellNotice(`${before}: none of them is shown here. Tick “edit links” to download what was corrected.`);
  }
  const of = hidden ? ` ${hidden} of them ${hidden === 1 ? "is" : "are"} not shown here.` : "";
  tellNotice(`${before}. ${told}${of}`);
  if (gold && !data.gold) state.compare = "gold";
}

async function openFile(file) {
  const lines = (await file.files[0].text()).split("\n").filter((line) => line.trim());
  file.value = "";
  const records = lines.map((line) => {
    try {
      return JSON.parse(line);
    } catch {
      return null;
    }
  });
  catchUp();
  const { taken, foreign, older } = newer(records);
  if (taken.length) correct(taken);
  const parts = [`${taken.length} of ${records.length} corrections taken`];
  if (older) parts.push(`${older} not newer than what is here`);
  if (foreign) parts.push(`${foreign} skipped: not a correction, or of a different text`);
  byId("live").textContent = `${parts.join("; ")}.`;
  tellNotice(`${parts.join("; ")}.`);
}

function lineOf(links) {
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

// All of this text, also of pairs that this page does not show.
function downloadCorrections() {
  catchUp();
  const sorted = [...reviewed].sort(([a], [b]) => a - b);
  const lines = sorted.map(([n, correction]) => `${JSON.stringify(toRecord(n, correction))}\n`);
  download("corrections.jsonl", lines);
  const hidden = notShown();
  const of = hidden ? `, ${hidden} of them of pairs that are not shown here` : "";
  say(`corrections.jsonl: corrections of ${lines.length} pairs${of}`);
}

function downloadGold() {
  catchUp();
  const lines = goldLines();
  download("gold.pharaoh", lines);
  const filled = lines.filter((line) => line !== "\n").length;
  const own = [...reviewed.values()].filter(({ links }) => links.size).length;
  say(`gold.pharaoh: links of ${filled} pairs, ${own} of them corrected`);
}

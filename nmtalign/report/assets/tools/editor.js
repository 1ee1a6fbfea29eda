// Correcting links. What is corrected stays in this browser, pair by pair, so that any report of the same text finds
// it. It is downloaded as corrections, which are opened again, or as gold links, a line for each pair of the text.

import { byId, data, download, html, root, state } from "../page.js";
import { byNumber, pairs, positions } from "../pairs/pairs.js";
import {
  correct,
  fromRecord,
  goBack,
  newer,
  reviewed,
  reviewedPairs,
  setReviewed,
  tellReview,
  toRecord,
  who,
} from "../pairs/corrections.js";
import { draw } from "../pairs/cards.js";
import { bring, shownPairs } from "../list.js";
import { doubt, drawRows, sortPairs } from "./index.js";

const KEPT = "nmtalign "; // then key and number of a pair
const NAME = "nmtalign-name";
let telling = null; // when some corrections, one after the other, are told of once
let keeps = true; // whether the browser keeps anything

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
    tool("Download gold", () => downloadLinks("gold.pharaoh", goldLines())),
    html("span", { role: "status" }),
  );
  document.addEventListener("keydown", (event) => {
    const back = { z: !event.shiftKey, Z: false, y: false }[event.key];
    if (!state.edit || back === undefined || event.target.matches("input")) return;
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    goStep(back);
  });
  document.addEventListener("corrected", ({ detail: { n, pair, correction, keep } }) => {
    if (keep && pair) {
      store(keyOf(pair), JSON.stringify(correction ? toRecord(n, correction) : { at: new Date().toISOString() }));
    }
    if (pair?.card) {
      tellReview(pair);
      draw(pair);
    }
    telling ??= Promise.resolve().then(() => {
      telling = null;
      tellCount();
      drawRows();
    });
  });
  window.addEventListener("storage", ({ key, newValue }) => {
    const pair = key?.startsWith(KEPT) && byNumber.get(`pair-${key.split(" ").at(-1)}`);
    if (pair && keyOf(pair) === key) setReviewed(pair.n, parsed(newValue)?.[1] ?? null, false);
  });
  restore();
  name.value = who.name;
}

const keyOf = (pair) => `${KEPT}${pair.h} ${pair.n}`;

function store(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    keeps = false;
  }
}

function parsed(text) {
  try {
    return fromRecord(JSON.parse(text));
  } catch {
    return null;
  }
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
  const others = reviewed.size - count ? `, ${reviewed.size - count} others of this text` : "";
  const kept = keeps
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
  if (root.dataset.kind === "cards") return;
  const known = new Map();
  for (const record of data.corrections) known.set(record.pair, record);
  for (const pair of pairs) {
    try {
      const kept = JSON.parse(localStorage.getItem(keyOf(pair)) ?? "null");
      if (kept && kept.at > (known.get(pair.n)?.at ?? "")) known.set(pair.n, kept);
    } catch (error) {
      if (!(error instanceof SyntaxError)) keeps = false; // forbidden
    }
  }
  const { taken } = newer([...known.values()]);
  for (const [n, correction] of taken) setReviewed(n, correction, false);
  try {
    who.name = localStorage.getItem(NAME) ?? "";
  } catch {
    keeps = false;
  }
  if (taken.length) tellFound(taken.map(([, { at, by }]) => [at, by]));
}

function tellFound(found) {
  const [at, by] = found.sort().at(-1);
  const last = `the last ${at.slice(0, 10)}${by ? ` by ${by}` : ""}`;
  byId("kept").hidden = false;
  byId("kept").textContent =
    `${found.length} pair${found.length === 1 ? " was" : "s were"} reviewed before, ${last}: ` +
    "what was corrected is the gold of these pairs, and is compared with. Tick “edit links” to go on.";
  if (!data.gold) state.compare = "gold";
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
  const { taken, foreign, older } = newer(records);
  if (taken.length) correct(taken);
  const parts = [`${taken.length} of ${records.length} corrections taken`];
  if (older) parts.push(`${older} not newer than what is here`);
  if (foreign) parts.push(`${foreign} left out, which are none, or of another text`);
  byId("kept").hidden = false;
  byId("kept").textContent = byId("live").textContent = `${parts.join("; ")}.`;
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

function downloadCorrections() {
  const sorted = [...reviewed].sort(([a], [b]) => a - b);
  downloadLinks(
    "corrections.jsonl",
    sorted.map(([n, correction]) => `${JSON.stringify(toRecord(n, correction))}\n`),
  );
}

function downloadLinks(name, lines) {
  download(name, lines);
  const filled = lines.filter((line) => line !== "\n").length;
  const own = [...reviewed.values()].filter(({ links }) => links.size).length;
  byId("live").textContent = `${name}: links of ${filled} pairs, ${own} of them corrected`;
}

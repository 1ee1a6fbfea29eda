// Correcting links: two words, or a cell, go none, sure, possible. What is corrected stays in this browser, and is
// downloaded as gold links, one line for each pair of the text: of all pairs with gold, or of the corrected alone.

import { byId, data, html, root, state } from "../page.js";
import { byNumber, pairs, positions } from "../pairs/pairs.js";
import { corrected, undo } from "../pairs/corrections.js";
import { draw } from "../pairs/cards.js";
import { bring, shownPairs } from "../pairs/list.js";
import { doubt, sortPairs } from "./index.js";

const KEPT = `nmtalign-gold-${data.id}`;
const BEHIND =
  "but another tab of this page has corrected since: this tab is behind and keeps nothing. " +
  "Download what it has, or reload it";
let keeps = true; // whether the browser keeps anything
let stored = null; // what this tab last read or wrote
let behind = false; // whether another tab wrote since

export function makeEditor() {
  const tool = (name, act) => {
    const button = html("button", { type: "button" }, name);
    button.addEventListener("click", act);
    return button;
  };
  byId("editor").append(
    tool("Next least certain", nextPair),
    tool("Least certain first", leastCertainFirst),
    tool("Undo", undoLast),
    tool("Download gold", () => download("gold", goldLines(inherited))),
    tool("Download corrected", () =>
      download(
        "corrected",
        goldLines(() => ""),
      ),
    ),
    html("span", { role: "status" }),
  );
  document.addEventListener("keydown", (event) => {
    if (
      state.edit &&
      event.key === "z" &&
      (event.ctrlKey || event.metaKey) &&
      !event.target.matches("input")
    ) {
      event.preventDefault();
      undoLast();
    }
  });
  document.addEventListener("corrected", ({ detail: pair }) => {
    keep();
    showEditor();
    if (pair.card) draw(pair);
  });
  window.addEventListener("storage", () => {
    noteOtherTabs();
    showEditor();
  });
  restore();
}

function undoLast() {
  const pair = undo();
  if (pair) bring(pair);
}

export function showEditor() {
  byId("editor").hidden = !state.edit;
  root.toggleAttribute("data-edit", state.edit);
  for (const pair of pairs) if (pair.check) pair.check.checked = corrected.has(pair.n);
  const kept = behind
    ? BEHIND
    : keeps
      ? "kept in this browser"
      : "which this browser does not keep: download before you leave";
  const status = byId("editor").querySelector("span");
  status.textContent = `${corrected.size} of ${pairs.length} pairs corrected, ${kept}`;
  status.classList.toggle("behind", behind);
}

function byDoubt() {
  const doubts = new Map(pairs.map((pair) => [pair, doubt(pair)]));
  return [...pairs].sort((a, b) => doubts.get(b) - doubts.get(a) || a.n - b.n);
}

function nextPair() {
  const seen = new Set(shownPairs());
  const next = byDoubt().find((pair) => !corrected.has(pair.n) && seen.has(pair));
  if (next) window.location.hash = `pair-${next.n}`;
  else byId("live").textContent = "All pairs are corrected";
}

function leastCertainFirst() {
  for (const head of byId("index").querySelectorAll("th")) head.removeAttribute("aria-sort");
  sortPairs(() => byDoubt().forEach((pair, i) => (pairs[i] = pair)));
}

function noteOtherTabs() {
  try {
    behind ||= localStorage.getItem(KEPT) !== stored;
  } catch {
    keeps = false;
  }
}

// A tab that is behind writes nothing: what the other one has corrected would be lost.
function keep() {
  noteOtherTabs();
  if (behind) return;
  const text = JSON.stringify([...corrected].map(([n, links]) => [n, [...links]]));
  try {
    localStorage.setItem(KEPT, text);
    stored = text;
    keeps = true;
  } catch {
    keeps = false;
  }
}

function restore() {
  try {
    stored = localStorage.getItem(KEPT);
    for (const [n, links] of JSON.parse(stored ?? "[]")) {
      const pair = byNumber.get(`pair-${n}`);
      const inside = (key) => {
        const [s, t] = positions(key);
        return s < pair.S && t < pair.T;
      };
      if (links.every(([key, sure]) => /^\d+-\d+$/.test(key) && inside(key) && (sure === 0 || sure === 1))) {
        corrected.set(pair.n, new Map(links));
      }
    }
  } catch {
    keeps = false; // forbidden, or none of ours
  }
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
const inherited = (n) => data.rest[n] ?? lineOf(byNumber.get(`pair-${n}`)?.gold ?? []);

// Line n is that of pair n of the text: as it was corrected, else what `others` has.
function goldLines(others) {
  const numbers = Array.from({ length: data.lines }, (_, i) => i + 1);
  return numbers.map((n) => `${corrected.has(n) ? lineOf(corrected.get(n)) : others(n)}\n`);
}

function download(name, lines) {
  const address = URL.createObjectURL(new Blob(lines, { type: "text/plain" }));
  html("a", { href: address, download: `${name}.pharaoh` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  const filled = lines.filter((line) => line !== "\n").length;
  const own = [...corrected.values()].filter(({ size }) => size).length;
  byId("live").textContent = `${name}.pharaoh: links of ${filled} pairs, ${own} of them corrected`;
}

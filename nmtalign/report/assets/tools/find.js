// Searching: in both sentences or one, whole words or parts, without accents; kept in the address of the page.

import { byId, html, quote, state } from "../page.js";
import { differs, pairs } from "../pairs/pairs.js";
import { markFound } from "../pairs/cards.js";
import { SIDES, writeAddress } from "./address.js";
import { choice, tick } from "./toolbar.js";
import { markCurrent } from "./index.js";

const LETTERS = { ß: "ss", ø: "o", ł: "l", đ: "d", œ: "oe", æ: "ae", ı: "i", ς: "σ", "’": "'" };
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652]/g; // accents, points of Hebrew and Arabic
const fold = (text) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replace(MARKS, "")
    .replace(/[ßøłđœæıς’]/g, (letter) => LETTERS[letter]);

// The positions of each side that hold a word of the query; null if one of these is nowhere.
function search(pair, query) {
  pair.folded ??= { s: pair.s.map(fold), t: pair.t.map(fold) };
  const found = { s: new Set(), t: new Set() };
  for (const wanted of query) {
    let seen = false;
    for (const side of SIDES[state.in]) {
      pair.folded[side].forEach((word, at) => {
        if (state.whole ? word === wanted : word.includes(wanted)) {
          found[side].add(at);
          seen = true;
        }
      });
    }
    if (!seen) return null;
  }
  return found;
}

export function find() {
  const query = fold(state.find).split(/\s+/).filter(Boolean);
  let count = 0;
  for (const pair of pairs) {
    const found = search(pair, query);
    const shown = found !== null && (!state.only || differs(pair));
    pair.found = found ?? { s: new Set(), t: new Set() };
    pair.card.hidden = pair.tr.hidden = !shown;
    if (pair.drawn) markFound(pair);
    count += Number(shown);
  }
  byId("found").textContent =
    count === pairs.length
      ? `${count} pair${count === 1 ? "" : "s"}`
      : count
        ? `${count} of ${pairs.length} pairs`
        : "No pair is found";
  tellNothing(pairs.length && !count);
  writeAddress();
  markCurrent();
}

function tellNothing(nothing) {
  const where = { both: "", source: " in its source sentence", target: " in its target sentence" }[state.in];
  const what = state.find.trim()
    ? ` that has ${quote(state.find.trim())}${state.whole ? " as a whole word" : ""}${where}`
    : "";
  const again = html("button", { type: "button" }, "Show all pairs");
  again.addEventListener("click", showAll);
  byId("nothing").hidden = !nothing;
  byId("nothing").replaceChildren(
    `There is no pair${what}${state.only ? ", among the pairs that differ" : ""}. `,
    again,
  );
}

export function showAll() {
  Object.assign(state, { find: "", only: false });
  showFinder();
  find();
}

export function drawFinder() {
  byId("scope").append(
    choice(
      "in",
      "in",
      Object.keys(SIDES).map((side) => [side, side === "both" ? "both sentences" : side]),
    ),
    tick("whole words", "whole"),
  );
  let typing = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      state.find = event.target.value;
      find();
    }, 120);
  });
}

export function showFinder() {
  byId("search").value = state.find;
  for (const box of document.querySelectorAll("[data-key]")) {
    if (box.type === "checkbox") box.checked = state[box.dataset.key];
    else if (box.matches("select")) box.value = state[box.dataset.key];
  }
}

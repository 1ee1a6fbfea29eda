// Searching words: in both sentences or one, whole words or parts, without accents.

import { state } from "../page.js";

export const SIDES = { both: ["s", "t"], source: ["s"], target: ["t"] };
const LETTERS = { ß: "ss", ø: "o", ł: "l", đ: "d", œ: "oe", æ: "ae", ı: "i", ς: "σ", "’": "'" };
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652]/g; // accents, points of Hebrew and Arabic
const fold = (text) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replace(MARKS, "")
    .replace(/[ßøłđœæıς’]/g, (letter) => LETTERS[letter]);

const queryOf = () => fold(state.find).split(/\s+/).filter(Boolean);
const isWanted = (word, wanted) => (state.whole ? word === wanted : word.includes(wanted));

// Whether each word of the query is somewhere in a pair, whose sentences are folded once, a line for each word.
export function search() {
  const query = queryOf();
  const sides = SIDES[state.in];
  return (pair) => {
    if (!query.length) return true;
    pair.folded ??= { s: fold(`\n${pair.s.join("\n")}\n`), t: fold(`\n${pair.t.join("\n")}\n`) };
    return query.every((wanted) =>
      sides.some((side) => pair.folded[side].includes(state.whole ? `\n${wanted}\n` : wanted)),
    );
  };
}

export function markFound(pair) {
  const query = queryOf();
  for (const token of pair.card.querySelectorAll(".token")) {
    const { side, at } = token.dataset;
    const folded = query.length && SIDES[state.in].includes(side) ? fold(pair[side][Number(at)]) : "";
    token.classList.toggle(
      "found",
      query.some((wanted) => isWanted(folded, wanted)),
    );
  }
}

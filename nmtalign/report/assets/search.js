// Searching words: in both sentences or one, whole words or parts, without accents.

import { state } from "./page.js";

export const SIDES = { both: ["s", "t"], source: ["s"], target: ["t"] };
const LETTERS = { ß: "ss", ø: "o", ł: "l", đ: "d", œ: "oe", æ: "ae", ı: "i", ς: "σ", "’": "'" };
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652]/g; // accents, points of Hebrew and Arabic
const fold = (text) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replace(MARKS, "")
    .replace(/[ßøłđœæıς’]/g, (letter) => LETTERS[letter]);

// Words, and phrases in quotes, whose words stand side by side, a line for each as in a folded sentence.
const queryOf = () =>
  [...fold(state.find).matchAll(/["“”]([^"“”]*)["“”]?|[^\s"“”]+/g)]
    .map(([word, phrase]) => (phrase ?? word).trim().split(/\s+/).join("\n"))
    .filter(Boolean);

// Where a phrase stands among the words of a sentence, or a word; the parts at its ends may be those of longer words.
function placesOfPhrase(words, phrase) {
  const wanted = phrase.split("\n");
  const last = wanted.length - 1;
  const fits = (word, k) =>
    state.whole || (k > 0 && k < last)
      ? word === wanted[k]
      : last === 0
        ? word.includes(wanted[0])
        : k === 0
          ? word.endsWith(wanted[0])
          : word.startsWith(wanted[k]);
  return words
    .map((_, i) => i)
    .filter((i) => i + last < words.length && wanted.every((_, k) => fits(words[i + k], k)))
    .flatMap((i) => wanted.map((_, k) => i + k));
}

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
  const found = { s: new Set(), t: new Set() };
  for (const side of query.length ? SIDES[state.in] : []) {
    const words = pair[side].map(fold);
    for (const phrase of query) placesOfPhrase(words, phrase).forEach((at) => found[side].add(at));
  }
  for (const token of pair.card.querySelectorAll(".token")) {
    const { side, at } = token.dataset;
    token.classList.toggle("found", found[side].has(Number(at)));
  }
}

// Searching words: in both sentences or one, whole words or parts, without accents; and conditions.

import { state } from "./page.js";
import { cellsLinked, holds, isCondition } from "./filters.js";

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
  [...fold(state.find).matchAll(/(?:link|a|b):\S+|["“”]([^"“”]*)["“”]?|[^\s"“”]+/g)]
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

const foldedWords = (pair) => ({ s: pair.s.map(fold), t: pair.t.map(fold) });

// Whether each word of the query is somewhere in a pair, whose sentences are folded once, a line for each word.
export function search() {
  const query = queryOf();
  const asked = query.filter(isCondition);
  const wanted = query.filter((word) => !isCondition(word));
  const sides = SIDES[state.in];
  const has = (pair, text) => sides.some((side) => pair.folded[side].includes(text));
  return (pair) => {
    if (!query.length) return true;
    pair.folded ??= { s: fold(`\n${pair.s.join("\n")}\n`), t: fold(`\n${pair.t.join("\n")}\n`) };
    if (!wanted.every((text) => has(pair, state.whole ? `\n${text}\n` : text))) return false;
    return asked.every((condition) => holds(pair, condition, () => foldedWords(pair)));
  };
}

export function markFound(pair) {
  const query = queryOf();
  const found = { s: new Set(), t: new Set() };
  const words = query.length ? foldedWords(pair) : null;
  for (const wanted of query) {
    for (const [s, t] of cellsLinked(pair, wanted, words)) {
      found.s.add(s);
      found.t.add(t);
    }
    if (isCondition(wanted)) continue;
    for (const side of SIDES[state.in]) {
      placesOfPhrase(words[side], wanted).forEach((at) => found[side].add(at));
    }
  }
  for (const token of pair.card.querySelectorAll(".token")) {
    const { side, at } = token.dataset;
    token.classList.toggle("found", found[side].has(Number(at)));
  }
}

// Searching words: in both sentences or one, whole words or parts, without accents; and conditions.

import { state } from "./page.js";
import { cellsLinked, formOf, holds, isCondition, meaningOfCondition } from "./filters.js";

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

// The sentences of a pair, folded once, a line for each word.
const foldedText = (pair) =>
  (pair.folded ??= { s: fold(`\n${pair.s.join("\n")}\n`), t: fold(`\n${pair.t.join("\n")}\n`) });

function foldedWords(pair) {
  const { s, t } = foldedText(pair);
  return { s: s.slice(1, -1).split("\n"), t: t.slice(1, -1).split("\n") };
}

// "-" before a condition or a word turns it round.
const partsOf = () =>
  queryOf().map((part) => {
    const negated = /^-./.test(part) && (isCondition(part.slice(1)) || /^-\p{L}/u.test(part));
    return { text: negated ? part.slice(1) : part, negated };
  });

// Whether each word of the query is somewhere in a pair, and each condition holds.
export function search() {
  const parts = partsOf();
  const sides = SIDES[state.in];
  const has = (pair, text) => sides.some((side) => foldedText(pair)[side].includes(text));
  const fits = (pair, text) =>
    isCondition(text)
      ? holds(pair, text, () => foldedWords(pair))
      : has(pair, state.whole ? `\n${text}\n` : text);
  return (pair) => parts.every(({ text, negated }) => fits(pair, text) !== negated);
}

// What the query was understood as, where it is more than words; also of conditions that are not known.
export function tellQuery() {
  const told = partsOf().flatMap(({ text, negated }) => {
    const meaning = isCondition(text) ? meaningOfCondition(text) : null;
    if (meaning) return [`${negated ? "not " : ""}${meaning}`];
    if (/^(is|words|link|a|b|pairs):/.test(text)) return [`${text} is read as a word; ${formOf(text)}`];
    return negated ? [`without ${text.split("\n").join(" ")}`] : [];
  });
  return told.length ? ` (${told.join("; ")})` : "";
}

export function markFound(pair) {
  const query = queryOf();
  const found = { s: new Set(), t: new Set() };
  const words = query.length ? foldedWords(pair) : null;
  for (const { text: wanted, negated } of partsOf()) {
    if (negated) continue;
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

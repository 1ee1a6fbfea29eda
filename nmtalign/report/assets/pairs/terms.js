// Terms that a reader may not know. Each has a title and, in a report, a link to its explanation on the page.

import { html, root } from "../page.js";

export const TERMS = {
  AER: "The alignment error rate: how far the links are from those that people made. At 0 % they are the same.",
  gold: "The links that people made by hand, by which the links of the report are judged.",
  sure: "A gold link that every annotator would make. A possible one is right, too, but may be missing.",
  probability: "How likely a link is to be right; the number of two words without a link says how near they are to it.",
  doubt: "The mean probability that a link of the pair is wrong.",
  score: "Of a pair: the probability that its sentences translate each other. Of two words: how well they fit.",
};

// A text that names a term.
export function term(name, text = name) {
  const title = TERMS[name];
  if (root.dataset.kind === "cards") return html("abbr", { title }, text);
  return html("a", { class: "term", href: `#term-${name}`, title }, text);
}

// The term that a text names, if any.
const termIn = (text) => Object.keys(TERMS).find((name) => new RegExp(`\\b${name}\\b`, "i").test(text));
export const titleOfTerm = (text) => TERMS[termIn(text)] ?? null;
export const withTerm = (text) => (termIn(text) ? term(termIn(text), text) : text);

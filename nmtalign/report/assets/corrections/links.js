// The links of a pair as they were corrected, and how a card draws them while it is edited.

import { TAGS, panelLinks } from "../panels.js";

// What a card does while it is edited; a notebook, which has no editor, does without.
export const acts = {};

export const startOf = (pair) => pair.inherited ?? new Map([...pair.links.keys()].map((key) => [key, 1]));
export const goldOf = (pair) => pair.reviewed?.links ?? startOf(pair); // what is edited

// The links whose kinds differ.
export const differences = (links, others) =>
  [...new Set([...links.keys(), ...others.keys()])].filter((key) => links.get(key) !== others.get(key));

// The links of a pair that are of another kind than at first, the last one first: { key, before, after }.
export const changesOf = (pair) =>
  differences(startOf(pair), goldOf(pair))
    .map((key) => ({ key, before: startOf(pair).get(key), after: goldOf(pair).get(key) }))
    .reverse();

// Whether somebody has changed a link of a pair, not only looked.
export const isCorrected = (pair) => changesOf(pair).length > 0;

// Whether a link is of the reader's hand, not of the gold or the links that the report was made with.
export const isYours = (pair, key) => goldOf(pair).has(key) && !startOf(pair).has(key);

// Whether the reader has removed a link of the gold, or of the links that the report was made with.
export const isRemoved = (pair, key) => startOf(pair).has(key) && !goldOf(pair).has(key);

// Whether the gold of a pair is another one than in the figures that the report was made with.
export const isChanged = (pair) => Boolean(pair.reviewed) && (!pair.inherited || isCorrected(pair));

// The links to draw in a panel, see panelLinks. In a card that is edited those of the model stay beside the others.
export function drawnLinks(pair, view) {
  if (!pair.editing) return panelLinks(pair, view);
  const gold = goldOf(pair);
  const keys = new Set([...pair.links.keys(), ...gold.keys()]);
  return [...keys].map((key) => ({ key, shared: false, ...kindOfEdited(pair, key) }));
}

function kindOfEdited(pair, key) {
  const kind = goldOf(pair).get(key);
  if (isYours(pair, key)) return { kind: kind ? "sure" : "maybe", tag: "yours" };
  if (isRemoved(pair, key)) return { kind: "removed", tag: "removed" };
  if (kind === 0) return { kind: "maybe", tag: "" };
  if (kind === undefined) return { kind: "wrong", tag: TAGS.wrong };
  if (!pair.links.has(key)) return { kind: "missed", tag: TAGS.missed };
  return { kind: pair.inherited ? "hit" : "both", tag: "" };
}

export function tellReview(pair) {
  const { by, at } = pair.reviewed ?? {};
  return pair.reviewed ? `reviewed${by ? ` by ${by}` : ""}, ${at.slice(0, 10)}` : "";
}

// Corrections as records of a file: how they are written, and a check of what others have written.

import { data } from "../page.js";
import { byNumber, positions } from "../pairs/pairs.js";

const pairsOf = (links, kind) =>
  [...links].filter(([, own]) => own === kind).map(([key]) => positions(key)).sort(([a, b], [s, t]) => a - s || b - t);

export const toRecord = (n, { text, links, note, by, at }) => ({
  pair: n,
  pairs: data.lines,
  text,
  links: pairsOf(links, 1),
  possible: pairsOf(links, 0),
  ...(note ? { note } : {}),
  by,
  at,
});

// What others have written: [number, correction], or null where it is not a correction of this text.
export function fromRecord(record) {
  const { pair: n, pairs: lines, text, links, possible = [], note = "", by = "", at } = record ?? {};
  const pair = byNumber.get(`pair-${n}`);
  const inside = (link) =>
    Array.isArray(link) &&
    link.length === 2 &&
    link.every((i, k) => Number.isInteger(i) && i >= 0 && (!pair || i < [pair.S, pair.T][k]));
  const known = Number.isInteger(n) && n >= 1 && n <= data.lines && lines === data.lines;
  const written = [text, note, by, at].every((value) => typeof value === "string");
  const both = [links, possible];
  if (!known || !written || (pair && pair.h !== text) || !both.every((side) => Array.isArray(side))) return null;
  if (!both.every((side) => side.every(inside))) return null;
  const found = new Map(both.flatMap((side, k) => side.map(([s, t]) => [`${s}-${t}`, 1 - k])));
  return [n, { text, links: found, note, by, at }];
}

// Whether a record is of a pair that is shown here, but of other words: its file is of another text.
export function isOfOtherWords(record) {
  const pair = byNumber.get(`pair-${record?.pair}`);
  return pair !== undefined && typeof record.text === "string" && record.text !== pair.h;
}

// Corrected links: two words, or a cell, go none, sure, possible. A correction is of a pair of a text, whatever report
// shows it: { text, links, by, at }. Each change is told as the event "corrected".

import { byId, data, html, quote, state } from "../page.js";
import { hideTip } from "../tooltip.js";
import { panelLinks } from "../panels.js";
import { byNumber, pairs, positions } from "./pairs.js";

export const reviewed = new Map(); // number of a pair, be it in this report or not -> its correction
const done = []; // lists of [number, correction before, correction after]
const undone = [];

const startOf = (pair) => pair.inherited ?? new Map([...pair.links.keys()].map((key) => [key, 1]));
export const goldOf = (pair) => pair.gold ?? startOf(pair);

// Whether somebody has changed a link of a pair, not only looked.
function isCorrected(pair) {
  const [now, before] = [goldOf(pair), startOf(pair)];
  return now.size !== before.size || [...now].some(([key, kind]) => before.get(key) !== kind);
}

// The links to draw in a panel, see panelLinks.
export function drawnLinks(pair, view) {
  if (!state.edit) return panelLinks(pair, view);
  return [...goldOf(pair)].map(([key, sure]) => ({ key, kind: sure ? "sure" : "maybe", shared: false, tag: "" }));
}

// Take corrections, or take them away where they are null: one step of those that can be undone.
export function correct(changes) {
  done.push(changes.map(([n, after]) => [n, reviewed.get(n) ?? null, after]));
  undone.length = 0;
  for (const [n, after] of changes) setReviewed(n, after);
}

export function setReviewed(n, correction, keep = true) {
  if (correction) reviewed.set(n, correction);
  else reviewed.delete(n);
  const pair = byNumber.get(`pair-${n}`);
  if (pair) pair.reviewed = correction;
  document.dispatchEvent(new CustomEvent("corrected", { detail: { n, pair, correction, keep } }));
}

// The numbers of the pairs that are as they were before the last step, or after the step that was undone.
export function goBack(back = true) {
  const [from, to] = back ? [done, undone] : [undone, done];
  const step = from.pop();
  if (!step) return [];
  to.push(step);
  for (const [n, before, after] of step) setReviewed(n, back ? before : after);
  const told = step.length > 1 ? `${step.length} pairs are` : `Pair ${step[0][0]} is`;
  byId("live").textContent = `${told} as ${back ? "before" : "it was corrected"}`;
  return step.map(([n]) => n);
}

export const who = { name: "" };
const now = () => `${new Date().toISOString().slice(0, 19)}Z`;
const correction = (pair, links) => ({ text: pair.h, links, by: who.name, at: now() });

export const NEXT = new Map([
  [undefined, 1],
  [1, 0],
  [0, undefined],
]);

export function setLink(pair, s, t, kind, focusAgain) {
  const links = new Map(goldOf(pair));
  const key = `${s}-${t}`;
  if (kind === undefined) links.delete(key);
  else links.set(key, kind);
  correct([[pair.n, correction(pair, links)]]);
  focusAgain();
  hideTip();
  byId("live").textContent =
    `${quote(pair.shown.s[s])} – ${quote(pair.shown.t[t])}: ${["possible", "sure"][kind] ?? "no link"}`;
}

const KEYS_OF_LINKS = { s: 1, p: 0, Delete: undefined, Backspace: undefined, n: undefined };

// A cell that is clicked, or on which a key is pressed; whether it was for the editor.
export function chooseCell(pair, s, t, key, picture) {
  const next = key === null || key === "Enter" || key === " ";
  if (!state.edit || !(next || key in KEYS_OF_LINKS)) return false;
  const pictures = () => [...pair.card.querySelectorAll(".matrix svg[tabindex]")];
  const which = pictures().indexOf(picture);
  const focused = picture.matches(":focus");
  const kind = next ? NEXT.get(goldOf(pair).get(`${s}-${t}`)) : KEYS_OF_LINKS[key];
  setLink(pair, s, t, kind, () => {
    if (focused) pictures()[which].focus();
  });
  return true;
}

// A pair without an error is reviewed, too, once somebody has looked.
export function editorOf(pair) {
  pair.check = html("input", { type: "checkbox" });
  pair.check.addEventListener("change", () => {
    if (pair.check.checked) return correct([[pair.n, correction(pair, goldOf(pair))]]);
    pair.check.checked = isCorrected(pair) && !window.confirm(`Forget the corrected links of pair ${pair.n}?`);
    if (!pair.check.checked) correct([[pair.n, null]]);
  });
  const told = html("span", { class: "review" });
  tellReview(pair, told);
  return [html("label", { class: "check" }, pair.check, "reviewed"), told];
}

export function tellReview(pair, told = pair.card.querySelector(".review")) {
  const { by, at } = pair.reviewed ?? {};
  pair.check.checked = Boolean(pair.reviewed);
  told.classList.toggle("done", Boolean(pair.reviewed));
  told.textContent = pair.reviewed
    ? `✓ reviewed${by ? ` by ${by}` : ""}, ${at.slice(0, 10)}`
    : pair.inherited
      ? "gold"
      : "";
}

// ---- as lines of a file ----

const pairsOf = (links, kind) =>
  [...links].filter(([, own]) => own === kind).map(([key]) => positions(key)).sort(([a, b], [s, t]) => a - s || b - t);

export const toRecord = (n, { text, links, by, at }) => ({
  pair: n,
  pairs: data.lines,
  text,
  links: pairsOf(links, 1),
  possible: pairsOf(links, 0),
  by,
  at,
});

// What others have written: [number, correction], or null where it is no correction of this text.
export function fromRecord(record) {
  const { pair: n, pairs: lines, text, links, possible = [], by = "", at } = record ?? {};
  const pair = byNumber.get(`pair-${n}`);
  const inside = (link) =>
    Array.isArray(link) &&
    link.length === 2 &&
    link.every((i, k) => Number.isInteger(i) && i >= 0 && (!pair || i < [pair.S, pair.T][k]));
  const known = Number.isInteger(n) && n >= 1 && n <= data.lines && lines === data.lines;
  const written = [text, by, at].every((value) => typeof value === "string");
  const both = [links, possible];
  if (!known || !written || (pair && pair.h !== text) || !both.every((side) => Array.isArray(side))) return null;
  if (!both.every((side) => side.every(inside))) return null;
  const found = new Map(both.flatMap((side, k) => side.map(([s, t]) => [`${s}-${t}`, 1 - k])));
  return [n, { text, links: found, by, at }];
}

// Those of some that are not older than what is known; how many of the others are of another text, or older.
export function newer(records) {
  const found = records.map(fromRecord);
  const own = found.filter(Boolean);
  const taken = own.filter(([n, { at }]) => at > (reviewed.get(n)?.at ?? ""));
  return { taken, foreign: found.length - own.length, older: own.length - taken.length };
}

export const reviewedPairs = () => pairs.filter((pair) => pair.reviewed);

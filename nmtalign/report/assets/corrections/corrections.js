// Corrected links: two words, or a cell, go none, sure, possible. A correction is of a pair of a text, whatever report
// shows it: { text, links, by, at }. Each change is told as the event "corrected".

import { byId, html, quote, state } from "../page.js";
import { panelLinks } from "../panels.js";
import { byNumber, pairs } from "../pairs/pairs.js";
import { keep, now, readKept } from "./kept.js";
import { fromRecord, isOfOtherWords, toRecord } from "./records.js";

export const reviewed = new Map(); // number of a pair, be it in this report or not -> its correction
// Steps of this tab: lists of { n, before, after, foreign }, which are the corrections of a pair before and after the
// step, and the links that another tab has changed since.
const done = [];
const undone = [];

const startOf = (pair) => pair.inherited ?? new Map([...pair.links.keys()].map((key) => [key, 1]));
export const goldOf = (pair) => pair.reviewed?.links ?? startOf(pair); // what is edited

// The links whose kinds differ.
const differences = (links, others) =>
  [...new Set([...links.keys(), ...others.keys()])].filter((key) => links.get(key) !== others.get(key));

// Whether somebody has changed a link of a pair, not only looked.
export const isCorrected = (pair) => differences(goldOf(pair), startOf(pair)).length > 0;

// Whether a link is of the reader's hand, not of the gold or the links that the report was made with.
export const isYours = (pair, key) => Boolean(pair.reviewed) && !startOf(pair).has(key);

// Whether the reader has removed a link of the gold, or of the links that the report was made with.
export const isRemoved = (pair, key) => Boolean(pair.reviewed) && startOf(pair).has(key) && !goldOf(pair).has(key);

// Whether the gold of a pair is another one than in the figures that the report was made with.
export const isChanged = (pair) => Boolean(pair.reviewed) && (!pair.inherited || isCorrected(pair));

// The links to draw in a panel, see panelLinks.
export function drawnLinks(pair, view) {
  if (!state.edit) return panelLinks(pair, view);
  return [...goldOf(pair)].map(([key, sure]) => ({ key, kind: sure ? "sure" : "maybe", shared: false, tag: "" }));
}

// Take corrections, or take them away where they are null: one step of those that can be undone.
export function correct(changes) {
  byId("said").textContent = "";
  done.push(changes.map(([n, after]) => ({ n, before: reviewed.get(n) ?? null, after, foreign: new Set() })));
  undone.length = 0;
  for (const [n, after] of changes) setReviewed(n, after);
}

export function setReviewed(n, correction, mine = true) {
  const pair = byNumber.get(`pair-${n}`);
  if (mine) keep(n, (correction ?? reviewed.get(n))?.text ?? pair?.h, correction);
  if (correction) reviewed.set(n, correction);
  else reviewed.delete(n);
  if (pair) pair.reviewed = correction;
  document.dispatchEvent(new CustomEvent("corrected", { detail: { pair } }));
}

// The links of a pair under a correction, or without one.
function linksUnder(n, correction) {
  const pair = byNumber.get(`pair-${n}`);
  return correction?.links ?? (pair ? startOf(pair) : new Map());
}

// Take what other tabs have changed, under one key of what is kept, or all.
export function catchUp(key = null) {
  for (const { n, correction } of readKept(key)) {
    const changed = differences(linksUnder(n, reviewed.get(n)), linksUnder(n, correction));
    for (const step of [...done, ...undone].flat()) {
      if (step.n === n) changed.forEach((link) => step.foreign.add(link));
    }
    setReviewed(n, correction, false);
  }
}

const written = (n, correction) => correction && JSON.stringify(toRecord(n, correction));

// Put the links of a pair that a step has changed back from `after` to `before`, but not those that another tab has
// changed since. "all" if nobody has changed the pair, else "some" or "none".
function takeBack({ n, before, after, foreign }) {
  const current = reviewed.get(n) ?? null;
  if (written(n, current) === written(n, after)) {
    setReviewed(n, before);
    return "all";
  }
  const [old, own, links] = [before, after, current].map((one) => linksUnder(n, one));
  const mine = differences(old, own).filter((key) => !foreign.has(key) && links.get(key) === own.get(key));
  if (!mine.length || !current) return "none";
  const left = new Map(links);
  for (const key of mine) {
    if (old.has(key)) left.set(key, old.get(key));
    else left.delete(key);
  }
  setReviewed(n, { ...current, links: left, at: now() });
  return "some";
}

// Undo the last step, or do the one again that was undone: the numbers of the pairs that are changed.
export function goBack(back = true) {
  catchUp();
  const [from, to] = back ? [done, undone] : [undone, done];
  const step = from.pop();
  if (!step) return [];
  const taken = { all: [], some: [], none: [] };
  for (const change of step) {
    const { before, after } = change;
    const way = takeBack(back ? change : { ...change, before: after, after: before });
    taken[way].push(change);
  }
  const own = [...taken.all, ...taken.some];
  if (own.length) to.push(own);
  tellStep(taken, back);
  return own.map(({ n }) => n);
}

function tellStep({ all, some, none }, back) {
  const name = (list) => (list.length > 1 ? `${list.length} pairs` : `Pair ${list[0].n}`);
  const told = [];
  if (all.length) {
    const are = all.length > 1 ? "are" : "is";
    told.push(`${name(all)} ${are} as ${back ? "before" : "it was corrected"}`);
  }
  if (some.length) {
    told.push(`${name(some)}: your change is ${back ? "undone" : "done again"}, what another tab has changed stays`);
  }
  if (none.length) told.push(`${name(none)}: nothing is changed, another tab has changed the same links since`);
  say(told.join("; "));
}

// What was done last, beside the tools and read aloud.
export function say(text) {
  byId("said").textContent = byId("live").textContent = text;
}

export const who = { name: "" };
const correction = (pair, links) => ({ text: pair.h, links, by: who.name, at: now() });

const NEXT = new Map([
  [undefined, 1],
  [1, 0],
  [0, undefined],
]);
export const nextKind = (kind) => NEXT.get(kind);

// Give a link the kind that `kindAfter` makes of its present one.
export function setLink(pair, s, t, kindAfter, focusAgain) {
  catchUp();
  pair.pinned = { ...(pair.pinned?.side ? pair.pinned : { s, t }), link: [s, t] }; // which is then explained
  const links = new Map(goldOf(pair));
  const key = `${s}-${t}`;
  const kind = kindAfter(links.get(key));
  if (kind === undefined) links.delete(key);
  else links.set(key, kind);
  correct([[pair.n, correction(pair, links)]]);
  focusAgain();
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
  pair.pinned = null; // no word is held any more
  setLink(pair, s, t, next ? nextKind : () => KEYS_OF_LINKS[key], () => {
    if (focused) pictures()[which].focus();
  });
  return true;
}

// A pair without an error is reviewed, too, once somebody has looked.
export function editorOf(pair) {
  pair.check = html("input", { type: "checkbox" });
  pair.check.addEventListener("change", () => {
    const { checked } = pair.check;
    catchUp();
    if (checked) return correct([[pair.n, correction(pair, goldOf(pair))]]);
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
    : "";
}

// Those of some that are not older than what is known; how many of the others are of another text, or older.
export function newer(records) {
  const ofOthers = records.some(isOfOtherWords);
  const found = records.map(fromRecord);
  const own = found.filter((one) => one && (!ofOthers || byNumber.has(`pair-${one[0]}`)));
  const taken = own.filter(([n, { at }]) => at > (reviewed.get(n)?.at ?? ""));
  return { taken, foreign: found.length - own.length, older: own.length - taken.length };
}

export const reviewedPairs = () => pairs.filter((pair) => pair.reviewed);
export const notShown = () => [...reviewed.keys()].filter((n) => !byNumber.has(`pair-${n}`)).length;

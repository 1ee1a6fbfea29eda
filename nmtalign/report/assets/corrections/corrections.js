// Corrected links. A correction is of a pair of a text, whatever report shows it: { text, links, note, by, at }. Each
// change is told as the event "corrected".

import { byId, quote } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";
import { acts, differences, goldOf, isCorrected, startOf } from "./links.js";
import { keep, now, readKept } from "./kept.js";
import { fromRecord, isOfOtherWords, toRecord } from "./records.js";

export const reviewed = new Map(); // number of a pair, be it in this report or not -> its correction
// Steps of this tab: lists of { n, before, after, foreign }, which are the corrections of a pair before and after the
// step, and the links that another tab has changed since.
const done = [];
const undone = [];

// Take corrections, or take them away where they are null: one step of those that can be undone.
export function correct(changes) {
  byId("said").textContent = "";
  done.push(changes.map(([n, after]) => ({ n, before: reviewed.get(n) ?? null, after, foreign: new Set() })));
  undone.length = 0;
  for (const [n, after] of changes) setReviewed(n, after);
}

export function setReviewed(n, correction, { mine = true, isNote = false } = {}) {
  const pair = byNumber.get(`pair-${n}`);
  if (mine) keep(n, (correction ?? reviewed.get(n))?.text ?? pair?.h, correction);
  if (correction) reviewed.set(n, correction);
  else reviewed.delete(n);
  if (pair) pair.reviewed = correction;
  document.dispatchEvent(new CustomEvent("corrected", { detail: { pair, isNote } }));
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
    setReviewed(n, correction, { mine: false });
  }
}

const written = (n, correction) => correction && JSON.stringify(toRecord(n, correction));

// Put the links of a pair that a step has changed back from `after` to `before`, but not those that another tab has
// changed since, be it to what they were. "all" if nobody has changed the pair, else "some" or "none".
function takeBack({ n, before, after, foreign }) {
  const current = reviewed.get(n) ?? null;
  if (!foreign.size && written(n, current) === written(n, after)) {
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
const correction = (pair, links) => ({
  text: pair.h, links, note: pair.reviewed?.note ?? "", by: who.name, at: now(),
});

// Give some links a kind: 1 sure, 0 possible, undefined none; the first one is explained.
export function setLinks(pair, cells, kind) {
  catchUp();
  const keys = cells.map(([s, t]) => `${s}-${t}`);
  const links = new Map(goldOf(pair));
  for (const key of keys) {
    if (kind === undefined) links.delete(key);
    else links.set(key, kind);
  }
  const held = pair.pinned?.side ? pair.pinned : { s: cells[0][0], t: cells[0][1] };
  pair.pinned = { ...held, made: cells };
  const isAsBefore = !differences(links, startOf(pair)).length && !pair.reviewed?.note;
  correct([[pair.n, isAsBefore ? null : correction(pair, links)]]);
  readAloud(pair, cells);
}

function readAloud(pair, cells) {
  const told = cells.map(([s, t]) => `${quote(pair.shown.s[s])} – ${quote(pair.shown.t[t])}`).join(", ");
  const kind = goldOf(pair).get(cells[0].join("-"));
  byId("live").textContent = `${told}: ${["possible", "sure"][kind] ?? "no link"}`;
}

// Make the links of some cells, or remove them where all of them are there.
function toggleLinks(pair, cells) {
  const gold = goldOf(pair);
  setLinks(pair, cells, cells.every(([s, t]) => gold.has(`${s}-${t}`)) ? undefined : 1);
}

// Make links possible, or sure where they are possible.
function togglePossible(pair, cells) {
  setLinks(pair, cells, goldOf(pair).get(cells[0].join("-")) === 0 ? 1 : 0);
}

const KEYS_OF_LINKS = { s: 1, p: 0, Delete: undefined, Backspace: undefined, n: undefined };

// A cell that is clicked, or on which a key is pressed; whether it was for the editor.
function chooseCell(pair, s, t, key, picture) {
  const toggles = key === null || key === "Enter" || key === " ";
  if (!pair.editing || !(toggles || key in KEYS_OF_LINKS)) return false;
  const pictures = () => [...pair.card.querySelectorAll(".matrix svg[tabindex]")];
  const which = pictures().indexOf(picture);
  const focused = picture.matches(":focus");
  pair.pinned = null; // no word is held any more
  if (toggles) toggleLinks(pair, [[s, t]]);
  else setLinks(pair, [[s, t]], KEYS_OF_LINKS[key]);
  if (focused) pictures()[which].focus();
  readAloud(pair, [[s, t]]);
  return true;
}

// A pair without an error is reviewed, too, once somebody has looked.
export function review(pair, isReviewed) {
  catchUp();
  if (isReviewed) return correct([[pair.n, correction(pair, goldOf(pair))]]);
  if (!isCorrected(pair) || window.confirm(`Forget the corrected links of pair ${pair.n}?`)) return discard(pair);
  pair.check.checked = true;
}

export function discard(pair) {
  catchUp();
  pair.pinned = null;
  correct([[pair.n, null]]);
}

// A note is kept with each letter, and is no step of those that can be undone.
export function setNote(pair, note) {
  setReviewed(pair.n, { ...correction(pair, goldOf(pair)), note }, { isNote: true });
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

Object.assign(acts, { chooseCell, toggleLinks, togglePossible });

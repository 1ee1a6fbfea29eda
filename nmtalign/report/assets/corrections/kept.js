// What this browser keeps: a correction under the key of the words of its pair and the number of the pair, where other
// tabs and other reports of the text find it. It has the key of the whole text beside it, which tells of a pair that is
// not shown here whether it is of this text.

import { data } from "../page.js";
import { byNumber } from "../pairs/pairs.js";
import { fromRecord, toRecord } from "./records.js";

const KEPT = "nmtalign "; // then key and number of a pair
const seen = new Map(); // key -> what this tab has last read or written there
export const browser = { keeps: true }; // whether it keeps anything

export const now = () => `${new Date().toISOString().slice(0, 19)}Z`;

export function store(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    browser.keeps = false;
    return;
  }
  seen.set(key, text);
}

export function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    browser.keeps = false;
    return null;
  }
}

// Keep the correction of a pair, or that there is none any more; `text` is the key of the words of the pair.
export function keep(n, text, correction) {
  if (!data.text && !byNumber.has(`pair-${n}`)) return; // nobody could tell later of which text it is
  const record = correction ? toRecord(n, correction) : { pair: n, pairs: data.lines, text, at: now() };
  store(`${KEPT}${text} ${n}`, JSON.stringify({ ...record, whole: data.text }));
}

// What is kept under a key, if it is of this text: { n, at, correction }; the correction is null where it was taken
// away.
function entryOf(key, kept) {
  const [text, number] = key.slice(KEPT.length).split(" ");
  const n = Number(number);
  const pair = byNumber.get(`pair-${n}`);
  if (pair && pair.h !== text) return null;
  let record = null;
  try {
    record = JSON.parse(kept);
  } catch {
    return null;
  }
  if (typeof record?.at !== "string") return null;
  if (!pair && !(data.text && record.whole === data.text)) return null;
  if (!("links" in record)) return { n, at: record.at, correction: null };
  const found = fromRecord(record);
  if (found?.[0] !== n || found[1].text !== text) return null;
  return { n, at: record.at, correction: found[1] };
}

// What other tabs, or earlier visits, have written under a key since this tab has last looked there; else null.
function readNew(key) {
  const kept = stored(key);
  if (!key.startsWith(KEPT) || kept === null || kept === seen.get(key)) return null;
  seen.set(key, kept);
  return entryOf(key, kept);
}

// The same under all keys, or one.
export function readKept(only = null) {
  if (only !== null) return [readNew(only)].filter(Boolean);
  try {
    return Object.keys(localStorage).map(readNew).filter(Boolean);
  } catch {
    browser.keeps = false;
    return [];
  }
}

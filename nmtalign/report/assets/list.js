// The list of cards: those near the window are in the page, the others are space of the height that they have had, or
// may have. What is read stays where it is when cards above it come, go or change.

import { barHeight, byId, html, list, onPaper, settle } from "./page.js";
import { pairs } from "./pairs/pairs.js";
import { draw, guessHeight, makeCard } from "./pairs/cards.js";

const NEAR = 900; // pixels above and below the window whose cards are drawn
const GAP = 14.4; // between two cards
const MOST_ON_PAPER = 200;
const before = html("div");
const after = html("div");
let shown = []; // the pairs that are found, in order
let tops = new Float64Array(1); // where the card of each begins, and where the last one ends
let present = []; // those whose cards are in the page

export const shownPairs = () => shown;

// The last pair that begins above a place in the list.
function indexAt(y) {
  let [low, high] = [0, shown.length];
  while (low < high - 1) {
    const middle = (low + high) >> 1;
    if (tops[middle] <= y) low = middle;
    else high = middle;
  }
  return low;
}

export const pairAt = (y) => shown[indexAt(y - list.getBoundingClientRect().top)];

function hold() {
  const { top, bottom } = list.getBoundingClientRect();
  if (top >= 0 || onPaper()) return () => {};
  const read = present.find(({ card }) => card.getBoundingClientRect().bottom > barHeight() + 40);
  const place = () =>
    bottom > window.innerHeight
      ? read?.card?.getBoundingClientRect().top
      : list.getBoundingClientRect().bottom;
  const was = place();
  return () => {
    const off = place() - was;
    if (Math.abs(off) > 0.5) window.scrollBy(0, off);
  };
}

function measure() {
  for (const pair of present) pair.height = pair.card.getBoundingClientRect().height + GAP;
  tops = new Float64Array(shown.length + 1);
  shown.forEach((pair, i) => {
    tops[i + 1] = tops[i] + (pair.height ||= guessHeight(pair));
  });
}

// Make the space above and below as high as the cards that are not in the page.
function fit() {
  measure();
  const first = Math.max(0, shown.indexOf(present[0]));
  before.style.height = `${tops[first]}px`;
  after.style.height = `${tops.at(-1) - tops[first + present.length]}px`;
}

function replace(wanted) {
  const stay = new Set(wanted);
  for (const pair of present) {
    if (stay.has(pair)) continue;
    pair.card.remove();
    Object.assign(pair, { card: null, check: null, decoded: {} });
  }
  const come = wanted.filter((pair) => !pair.card);
  for (const pair of come) pair.card = makeCard(pair);
  let next = before.nextSibling;
  for (const { card } of wanted) {
    if (card === next) next = next.nextSibling;
    else list.insertBefore(card, next);
  }
  present = wanted;
  markSought();
  draw(...come);
}

// One round of bringing cards that are near; whether there were others than before.
function step() {
  const { top } = list.getBoundingClientRect();
  const first = onPaper() ? 0 : indexAt(-top - NEAR);
  const last = onPaper() ? MOST_ON_PAPER : indexAt(window.innerHeight - top + NEAR) + 1;
  const wanted = shown.slice(first, last);
  const same = wanted.length === present.length && wanted.every((pair, i) => pair === present[i]);
  const putBack = hold();
  if (!same) replace(wanted);
  fit();
  putBack();
  return !same;
}

export function render() {
  for (let rounds = 8; rounds && step(); rounds--);
}

// On paper: which pairs are missing, if not all are printed.
export function tellPrinted() {
  const isCut = onPaper() && shown.length > MOST_ON_PAPER;
  const count = shown.length.toLocaleString("en");
  byId("printed").hidden = !isCut;
  byId("printed").textContent =
    `Only the first ${MOST_ON_PAPER} of ${count} pairs are printed; search for others, and print these.`;
}

// Show other pairs, or the same in another order.
export function show(chosen) {
  if (!before.parentNode) list.replaceChildren(before, after);
  shown = chosen;
  measure();
  render();
}

// Take all cards out of the page.
export function clear() {
  replace([]);
}

// Draw anew what has changed for all pairs, after a change of the tools around them.
export function redraw(change = () => {}) {
  const putBack = hold();
  change();
  for (const pair of pairs) pair.height = 0;
  draw(...present);
  fit();
  putBack();
  render();
}

let sought = null;

function markSought() {
  for (const pair of present) pair.card.classList.toggle("sought", pair === sought);
}

export function seek(pair) {
  sought = pair;
  markSought();
}

// Scroll to a pair, or until its top is where it was.
export function bring(pair, top = null) {
  if (!shown.includes(pair)) return;
  for (let rounds = 8, more = true; rounds && more; rounds--) {
    const at = list.getBoundingClientRect().top + tops[shown.indexOf(pair)];
    window.scrollBy(0, at - (top ?? barHeight() + 10));
    more = step();
  }
  settle(pair.card, top);
}

// Go to the card of a pair, with the focus.
export function openCard(pair) {
  seek(pair);
  bring(pair);
  pair.card.querySelector("h3 a").focus({ preventScroll: true });
}

export function goToEnd(down) {
  for (let rounds = 4; rounds; rounds--) {
    window.scrollTo(0, down ? document.documentElement.scrollHeight : 0);
    render();
    const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
    if (Math.abs(down ? scrollHeight - scrollTop - clientHeight : scrollTop) < 2) return;
  }
}

export const drawnPairs = () => present;

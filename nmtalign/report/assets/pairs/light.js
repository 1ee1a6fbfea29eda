// What is pointed at is lit and explained. A word or a cell that was clicked stays so; a second click, or Escape, lets
// it go.

import { byNumber, positions } from "./pairs.js";
import { drawnLinks } from "../corrections/links.js";
import { clearAttention, drawAttention, labelCurve } from "./attention.js";
import { explainCell, explainWord, tellProbability } from "./reasons.js";
import { explainPair, fillInspector } from "./inspector.js";

function light(card, chosen) {
  card.classList.add("lit");
  for (const node of card.querySelectorAll("[data-link]")) {
    node.classList.toggle("on", chosen(node.dataset.link));
  }
  for (const panel of card.querySelectorAll("[data-view]")) {
    const links = drawnLinks(byNumber.get(card.id), panel.dataset.view)
      .map(({ key }) => key)
      .filter(chosen)
      .map((key) => key.split("-"));
    const on = { s: new Set(links.map(([s]) => s)), t: new Set(links.map(([, t]) => t)) };
    for (const node of panel.querySelectorAll("[data-side]")) {
      node.classList.toggle("on", on[node.dataset.side].has(node.dataset.at));
    }
  }
}

function lightWords(card, side, i) {
  for (const node of card.querySelectorAll(`[data-side="${side}"][data-at="${i}"]`)) node.classList.add("on");
}

// Nothing is pointed at any more: the card shows what is kept, or what it has begun with.
export function unlight(card) {
  card.classList.remove("lit");
  for (const node of card.querySelectorAll(".on")) node.classList.remove("on");
  for (const cursors of card.querySelectorAll(".cursors")) cursors.replaceChildren();
  showPinned(byNumber.get(card.id));
}

// Light a word, its links and its attention, and say why; what is said is returned.
export function lightWord(pair, card, side, i) {
  light(card, (key) => positions(key)[side === "s" ? 0 : 1] === i);
  lightWords(card, side, i);
  for (const show of pair.cursors) show.word(side, i);
  drawAttention(pair, card, side, i);
  const reason = explainWord(pair, side, i);
  fillInspector(pair, reason);
  return reason;
}

// The same for a link or a cell of the matrix.
export function lightCell(pair, card, s, t) {
  const key = `${s}-${t}`;
  light(card, (link) => link === key);
  lightWords(card, "s", s);
  lightWords(card, "t", t);
  for (const show of pair.cursors) show.cell(s, t);
  labelCurve(card, key, tellProbability(pair, s, t));
  const reason = explainCell(pair, s, t);
  fillInspector(pair, reason);
  return reason;
}

const PARTS = ["side", "i", "others", "s", "t"];
const isSame = (a, b) => Boolean(a && b) && PARTS.every((name) => String(a[name]) === String(b[name]));

// Keep a word { side, i } or a cell { s, t }, or let go what is kept.
export function pin(pair, chosen) {
  pair.pinned = chosen === null || isSame(pair.pinned, chosen) ? null : chosen;
  showPinned(pair);
}

export function showPinned(pair) {
  const held = pair.pinned;
  const card = pair.card;
  for (const word of card.querySelectorAll(".token")) {
    const heldWords = held?.side === word.dataset.side ? [held.i, ...(held.others ?? [])] : [];
    word.setAttribute("aria-pressed", String(heldWords.includes(Number(word.dataset.at))));
  }
  card.classList.toggle("lit", held !== null);
  if (held?.side) return lightWord(pair, card, held.side, held.i);
  if (held) return lightCell(pair, card, held.s, held.t);
  clearAttention(card);
  return explainPair(pair);
}

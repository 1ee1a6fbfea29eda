// What is pointed at is lit. A word that was clicked keeps its attention; a second click, or Escape, lets it go.

import { hideTip } from "../tooltip.js";
import { byNumber, positions } from "./pairs.js";
import { drawnLinks } from "../corrections/corrections.js";
import { clearAttention, drawAttention } from "./attention.js";

export function light(card, chosen) {
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

export function unlight(card) {
  card.classList.remove("lit");
  for (const node of card.querySelectorAll(".on")) node.classList.remove("on");
  for (const cursors of card.querySelectorAll(".cursors")) cursors.replaceChildren();
  showPinned(byNumber.get(card.id));
  hideTip();
}

export function lightWord(pair, card, side, i) {
  light(card, (key) => positions(key)[side === "s" ? 0 : 1] === i);
  for (const node of card.querySelectorAll(`[data-side="${side}"][data-at="${i}"]`)) node.classList.add("on");
  for (const show of pair.bands ?? []) show(side, i);
  drawAttention(pair, card, side, i);
}

export function pin(pair, side, i) {
  const same = pair.pinned?.side === side && pair.pinned.i === i;
  pair.pinned = side === null || same ? null : { side, i };
  showPinned(pair);
}

export function showPinned(pair) {
  const held = pair.pinned;
  const card = pair.card;
  for (const word of card.querySelectorAll(".token")) {
    word.setAttribute(
      "aria-pressed",
      String(held?.side === word.dataset.side && held.i === Number(word.dataset.at)),
    );
  }
  card.classList.toggle("lit", held !== null);
  if (held) lightWord(pair, card, held.side, held.i);
  else clearAttention(card);
}

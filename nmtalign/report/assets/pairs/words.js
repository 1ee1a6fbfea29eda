// How the words of a pair stand: two lines, two columns, or for long pairs running text.

import { html, onPaper, state, width } from "../page.js";
import { TAGS, positions } from "./pairs.js";
import { drawnLinks, goldOf } from "./corrections.js";

const LONG = 60; // words; longer pairs are running text

export function wordList(pair, side) {
  const linked = new Set(
    [...(state.edit ? goldOf(pair) : pair.links).keys()].map((key) => positions(key)[side === "s" ? 0 : 1]),
  );
  const words = pair[side].map((word, i) => {
    const alone = !linked.has(i);
    const unknown = pair.u && pair.u[side === "s" ? 0 : 1].includes(i);
    const token = html(
      "span",
      {
        role: "button",
        "aria-pressed": "false",
        class: `token${alone ? " alone" : ""}${unknown ? " unknown" : ""}`,
        tabindex: side === "s" && i === 0 ? 0 : -1,
        "data-side": side,
        "data-at": i,
      },
      word || "␣",
    );
    if (alone) token.append(html("span", { class: "unseen" }, " (not linked)"));
    return html("li", {}, token);
  });
  const list = html(
    "ol",
    {
      class: `words ${side === "s" ? "source" : "target"}`,
      dir: pair.rtl[side] ? "rtl" : "ltr",
      "aria-label": side === "s" ? "Source words" : "Target words",
    },
    ...words,
  );
  if (!words.length) list.append(html("li", {}, html("em", {}, "no words")));
  return list;
}

// How the words stand, and how wide that is: computed, for asking the page would lay it out.
export function sizeOfWords(pair, room) {
  const type = onPaper() ? 12 : 15;
  const line = (words) => words.reduce((sum, word) => sum + width(word, type) + 13, 0);
  const wide = Math.max(line(pair.s), line(pair.t));
  if (!state.down && wide <= room) return { layout: "across", wide };
  if (isLong(pair) && !onPaper()) {
    return { layout: "text", wide: room > 520 && state.matrices ? 0.5 * room : room };
  }
  return sizeOfColumns(pair, room);
}

export function sizeOfColumns(pair, room) {
  const column = (words) =>
    Math.min(room / 2, 12 + Math.max(0, ...words.map((word) => width(word, onPaper() ? 12 : 15))));
  return { layout: "down", wide: column(pair.s) + 128 + column(pair.t) };
}

export const isLong = (pair) => Math.max(pair.S, pair.T) >= LONG;

// In running text the words of wrong and missing links are underlined, for their curves are not always seen.
export function markDifferences(pair, box) {
  for (const [key, kind] of drawnLinks(pair)) {
    if (TAGS[kind]) key.split("-").forEach((at, side) => wordAt(box, "st"[side], at).classList.add(kind));
  }
}

export const wordAt = (box, side, at) => box.querySelector(`.token[data-side="${side}"][data-at="${at}"]`);

export function focusWord(box, side, i) {
  for (const old of box.querySelectorAll('.token[tabindex="0"]')) old.tabIndex = -1;
  Object.assign(wordAt(box, side, i), { tabIndex: 0 }).focus();
}

// How the words of a pair stand: two lines, two columns, or for long pairs two lines in each of several rows.

import { data, directionOf, html, onPaper, state, width } from "../page.js";
import { positions } from "./pairs.js";
import { ownLinks } from "../panels.js";
import { goldOf } from "../corrections/corrections.js";

const LONG = 60; // words; longer pairs are cut into rows
const LEAST_FOR_BOTH = 760; // room for rows with a matrix beside them

// The words of a side in a panel, or some of them.
export function wordList(pair, side, view, from = 0, to = pair[side].length) {
  const linked = new Set(
    [...(state.edit ? goldOf(pair) : ownLinks(pair, view)).keys()].map((key) => positions(key)[side === "s" ? 0 : 1]),
  );
  const words = pair[side].slice(from, to).map((word, k) => {
    const i = from + k;
    const alone = !linked.has(i);
    const unknown = pair.u && pair.u[side === "s" ? 0 : 1].includes(i);
    const direction = pair.directions[side];
    const token = html(
      "span",
      {
        role: "button",
        "aria-pressed": "false",
        class: `token${alone ? " alone" : ""}${unknown ? " unknown" : ""}`,
        tabindex: side === "s" && i === 0 ? 0 : -1,
        "data-side": side,
        "data-at": i,
        // a word without a letter has the direction of its sentence, so that brackets face its words
        dir: direction === "rtl" && directionOf(word, "") === "" ? direction : null,
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
      dir: pair.directions[side],
      lang: data.languages[side === "s" ? 0 : 1],
      "aria-label": side === "s" ? "Source words" : "Target words",
    },
    ...words,
  );
  if (!pair[side].length) list.append(html("li", {}, html("em", {}, "no words")));
  return list;
}

// How the words stand, and how wide that is: computed, for asking the page would lay it out. Rows with a matrix beside
// them take a part of the room.
export function sizeOfWords(pair, room, part = 0.52) {
  const type = onPaper() ? 12 : 15;
  const line = (words) => words.reduce((sum, word) => sum + width(word, type) + SPACE, 0);
  const wide = Math.max(line(pair.s), line(pair.t));
  // where lines run against each other, all curves would cross
  const down = state.down || pair.directions.s !== pair.directions.t;
  if (!down && wide <= room) return { layout: "across", wide };
  if (isLong(pair) && !down) {
    const half = state.matrices && !onPaper() && room > LEAST_FOR_BOTH;
    return { layout: "rows", wide: half ? Math.round(part * room) : room };
  }
  return sizeOfColumns(pair, room);
}

export function sizeOfColumns(pair, room) {
  const column = (words) =>
    Math.min(room / 2, 12 + Math.max(0, ...words.map((word) => width(word, onPaper() ? 12 : 15))));
  return { layout: "down", wide: column(pair.s) + (onPaper() ? 64 : 128) + column(pair.t) };
}

export const isLong = (pair) => Math.max(pair.S, pair.T) >= LONG;

const SPACE = 13; // what a word takes beside its letters

// A long pair as rows of words: where each begins and ends on both sides, [[s, t], [s, t], ...]. Each row is as long as
// its place, or ends sooner, where fewer links lead out of it.
export function rowsOf(pair, room) {
  const ends = { s: widthsUpTo(pair.s), t: widthsUpTo(pair.t) };
  const links = [...pair.links.keys()].map(positions);
  const cuts = [[0, 0]];
  const whole = [pair.S, pair.T];
  while (cuts.at(-1).some((at, k) => at < whole[k])) cuts.push(nextCut(links, ends, cuts.at(-1), room));
  return cuts;
}

function widthsUpTo(words) {
  const found = [0];
  for (const word of words) found.push(found.at(-1) + width(word, onPaper() ? 12 : 15) + SPACE);
  return found;
}

function nextCut(links, ends, before, room) {
  const ways = (side, from) => {
    const most = ends[side].findLastIndex((end) => end - ends[side][from] <= room);
    const last = Math.max(most, Math.min(from + 1, ends[side].length - 1));
    const least = last === ends[side].length - 1 ? last : from + Math.ceil(0.6 * (last - from));
    return Array.from({ length: last - least + 1 }, (_, i) => last - i);
  };
  let best = null;
  for (const a of ways("s", before[0])) {
    for (const b of ways("t", before[1])) {
      const out = links.filter(([x, y]) => x < a !== y < b).length;
      if (best === null || out < best.out) best = { out, cut: [a, b] };
    }
  }
  return best.cut;
}

export const wordAt = (box, side, at) => box.querySelector(`.token[data-side="${side}"][data-at="${at}"]`);

export function focusWord(box, side, i) {
  for (const old of box.querySelectorAll('.token[tabindex="0"]')) old.tabIndex = -1;
  Object.assign(wordAt(box, side, i), { tabIndex: 0 }).focus();
}

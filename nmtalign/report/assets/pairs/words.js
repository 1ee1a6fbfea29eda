// How the words of a pair stand: two lines, two columns, or for long pairs two lines in each of several rows.

import { cardSize, data, directionOf, html, manyOnPaper, onPaper, state, width } from "../page.js";
import { positions } from "./pairs.js";
import { ownLinks } from "../panels.js";
import { goldOf } from "../corrections/links.js";

const LONG = 60; // words; longer pairs are rows at every width
const MIN_ROOM_OF_ROWS = 500; // a narrower card has columns instead
const MIN_WORD_GAP = 8; // pixels between two words of a line
const MAX_WORD_GAP = 56;
const MAX_ROW_GAP = 24; // in rows, whose words stay close

// Letters of a layout, in pixels.
function letterSize(layout) {
  if (onPaper()) return manyOnPaper() ? 11 : 12;
  return layout === "rows" ? 15 : cardSize === "wide" ? 20 : 16;
}

// The words of a side in a panel, or some of them.
export function wordList(pair, side, view, from = 0, to = pair[side].length) {
  const linked = new Set(
    [...(pair.editing ? goldOf(pair) : ownLinks(pair, view)).keys()].map((key) => positions(key)[side === "s" ? 0 : 1]),
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

const lettersOf = (words, size) => words.reduce((sum, word) => sum + width(word, size), 0);
const widthOfLine = (words, size, gap) => lettersOf(words, size) + gap * Math.max(0, words.length - 1);

// Give two lines of words the width that both are spread to, as far as the gaps between their words allow.
export function spread(lists, sides, room, rows = false) {
  const size = letterSize(rows ? "rows" : "across");
  const gap = onPaper() ? MIN_WORD_GAP : rows ? MAX_ROW_GAP : MAX_WORD_GAP;
  const wide = Math.min(room, Math.max(...sides.map((words) => widthOfLine(words, size, gap))));
  lists.forEach((list, k) => {
    if (!list) return;
    list.style.width = `${Math.min(wide, Math.max(1, widthOfLine(sides[k], size, rows ? wide : gap)))}px`;
  });
}

// How the words stand, and how wide that is: computed, for asking the page would lay it out.
export function sizeOfWords(pair, room) {
  const wide = Math.max(...[pair.s, pair.t].map((words) => widthOfLine(words, letterSize("across"), MIN_WORD_GAP)));
  // where lines run against each other, all curves would cross
  const down = state.down || pair.directions.s !== pair.directions.t;
  if (!down && wide <= room) return { layout: "across", wide: onPaper() ? wide : room };
  const rows = isLong(pair) || onPaper() || room >= MIN_ROOM_OF_ROWS;
  if (rows && !down) return { layout: "rows", wide: room };
  return sizeOfColumns(pair, room);
}

// The width that two columns of words need on a screen, with short curves between them.
export const narrowColumns = (pair, room) => sizeOfColumns(pair, room).wide - 64;

function sizeOfColumns(pair, room) {
  const column = (words) =>
    Math.min(room / 2, 12 + Math.max(0, ...words.map((word) => width(word, letterSize("down")))));
  return { layout: "down", wide: column(pair.s) + (onPaper() ? 64 : 128) + column(pair.t) };
}

export const isLong = (pair) => Math.max(pair.S, pair.T) >= LONG;

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
  // a little air, so that no row is crammed
  const gap = manyOnPaper() ? MIN_WORD_GAP : onPaper() ? 13 : MIN_WORD_GAP + 2;
  for (const word of words) found.push(found.at(-1) + width(word, letterSize("rows")) + gap);
  return found;
}

function nextCut(links, ends, before, room) {
  const lastOf = (side, from) => {
    const most = ends[side].findLastIndex((end) => end - ends[side][from] <= room);
    return Math.max(most, Math.min(from + 1, ends[side].length - 1));
  };
  const last = [lastOf("s", before[0]), lastOf("t", before[1])];
  if (last[0] === ends.s.length - 1 && last[1] === ends.t.length - 1) return last;
  const ways = (k) => {
    const least = before[k] + Math.ceil(0.6 * (last[k] - before[k]));
    return Array.from({ length: last[k] - least + 1 }, (_, i) => last[k] - i);
  };
  let best = null;
  for (const a of ways(0)) {
    for (const b of ways(1)) {
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

// Words on the figure: rings at words without a link, and a few notes while nothing is pointed at. A note is omitted
// where it would touch a curve or another note, or leave the card.

import { onPaper, quote, svg, width } from "../page.js";
import { boxOf, drawnBoxes, touch } from "./labels.js";
import { pairs, positions } from "./pairs.js";

const NOTE_SIZE = 12;
const RING = 4.5; // radius
const BESIDE = 12; // pixels that a note may reach beyond the curves, into the edge of the card

// The longest run of neighboring words whose only links run against each other: [first, last] source position.
export function reversedRun(pair) {
  const partners = pair.s.map(() => []);
  for (const key of pair.links.keys()) {
    const [s, t] = positions(key);
    partners[s].push(t);
  }
  let best = null;
  let first = 0;
  for (let s = 1; s <= pair.S; s++) {
    const goesOn = s < pair.S && partners[s].length === 1 && partners[s - 1].length === 1;
    if (goesOn && partners[s][0] === partners[s - 1][0] - 1) continue;
    if (s - first > 1 && (!best || s - first > best[1] - best[0] + 1)) best = [first, s - 1];
    first = s;
  }
  return best;
}

class Board {
  constructor(taken, wide) {
    this.wide = wide;
    this.taken = taken;
    this.group = svg("g", { class: "notes" });
  }

  touches(box) {
    return this.taken.some((one) => touch(one, box));
  }

  hasRoom(box) {
    return box[0] >= -BESIDE && box[2] <= this.wide + BESIDE && !this.touches(box);
  }

  // Write a note, and return whether there is room for it.
  write(text, x, y, { anchor = "middle", kind = "" } = {}) {
    const box = boxOf(text, NOTE_SIZE, [x, y], anchor);
    if (!this.hasRoom(box)) return false;
    this.taken.push(box);
    this.group.append(svg("text", { class: `note ${kind}`, x, y, "text-anchor": anchor }, text));
    return true;
  }
}

export function makeNotes(pair, box, places, curves) {
  const rings = svg("g", { class: "rings" });
  const board = new Board(drawnBoxes(box), places.frame.width);
  const across = box.classList.contains("across");
  const alone = [...box.querySelectorAll(".token.alone")].map((word) => [word.dataset.side, Number(word.dataset.at)]);
  for (const [side, i] of alone) {
    if (!pair.S || !pair.T) break;
    const [x, y] = side === "s" ? places.ends(i, 0)[0] : places.ends(0, i)[1];
    const away = (side === "s" ? 1 : -1) * RING;
    const [cx, cy] = places.across ? [x, y + away] : [x + away, y];
    rings.append(svg("circle", { class: "ring", cx, cy, r: RING }));
    board.taken.push([cx - RING, cy - RING, cx + RING, cy + RING]);
  }
  if (!across || onPaper() || pair.editing) return [rings];
  const height = box.querySelector(".token")?.getBoundingClientRect().height ?? 0; // a pair may have no words
  noteReversal(pair, places, board, height);
  for (const { kind, points } of curves) {
    if (kind === "missed" || kind === "wrong") noteError(kind, middleOf(points), board);
  }
  for (const [side, i] of alone) {
    if (!pair.S || !pair.T) break;
    const [x, y] = side === "s" ? places.ends(i, 0)[0] : places.ends(0, i)[1];
    board.write("no link", x, y + (side === "s" ? -1 : 1) * (height + 11));
  }
  if (pair === pairs[0]) noteCurve(pair, curves, board, height);
  return [rings, board.group];
}

/** @returns {[number, number]} */
const middleOf = ([[x, y], , , [u, v]]) => [(x + u) / 2, (y + v) / 2];

// Beside the middle of a curve, or a little above or below it.
const noteError = (kind, [x, y], board) =>
  [0, -14, 14].some((away) =>
    [["end", -12], ["start", 12]].some(([anchor, beside]) => board.write(kind, x + beside, y + away, { anchor, kind })),
  );

// A bracket above the words whose order is reversed.
function noteReversal(pair, { ends, frame, room, across }, board, height) {
  const run = across && reversedRun(pair);
  if (!run) return;
  const text = "the word order is reversed here, so the curves cross";
  const [from, to] = run.map((s) => ends(s, 0)[0]);
  const [left, right] = [
    Math.min(from[0] - room("s", run[0]) / 2, to[0] - room("s", run[1]) / 2),
    Math.max(from[0] + room("s", run[0]) / 2, to[0] + room("s", run[1]) / 2),
  ];
  const top = from[1] - height - 14;
  const half = width(text, NOTE_SIZE) / 2;
  const x = Math.min(Math.max((left + right) / 2, half), Math.max(half, frame.width - half));
  if (!board.write(text, x, top - 8)) return;
  board.group.append(svg("path", { class: "bracket", d: `M${left} ${top + 6}v-5h${right - left}v5` }));
}

// On the first card: what a curve says, beside one of its ends, else above or below the words.
function noteCurve(pair, curves, board, height) {
  const known = curves.filter(({ key, kind }) => {
    const [s, t] = positions(key);
    const isWord = (word) => /\p{L}{3}|\p{Lo}/u.test(word);
    return ["hit", "both"].includes(kind) && isWord(pair.s[s]) && isWord(pair.t[t]);
  });
  const wordsOf = ({ key }) => positions(key).map((at, k) => quote(pair.shown[k ? "t" : "s"][at]));
  for (const curve of known) {
    const [source, target] = wordsOf(curve);
    const lines = ["this curve:", source, `is ${target}`];
    const wide = Math.max(...lines.map((line) => width(line, NOTE_SIZE))) + 4;
    const ends = [[curve.points[0], 6], [curve.points[3], -60]];
    const places = ends.flatMap(([[x, y], down]) => [
      { anchor: "start", x: x + 10, left: x + 8, top: y + down },
      { anchor: "end", x: x - 10, left: x - 8 - wide, top: y + down },
    ]);
    const fits = ({ left, top }) =>
      left > 0 && left + wide < board.wide && !board.touches([left, top, left + wide, top + 54]);
    const free = places.find(fits);
    if (!free) continue;
    lines.forEach((line, n) => board.write(line, free.x, free.top + 10 + 16 * n, { anchor: free.anchor }));
    return;
  }
  for (const curve of known) {
    const [above, below] = [curve.points[0], curve.points[3]];
    const [source, target] = wordsOf(curve);
    if (board.write(`the curve below: ${source} is ${target}`, above[0], above[1] - height - 11)) return;
    if (board.write(`the curve above: ${source} is ${target}`, below[0], below[1] + height + 11)) return;
  }
}

// The curves of links; those from one row of a long pair to another are stubs at both of their ends.

import { onPaper, svg } from "../page.js";
import { positions } from "./pairs.js";
import { drawnLinks } from "../corrections/links.js";
import { LABEL_SIZE, TAG_SIZE, boxOf, keepDrawn, placesAlong, takePlace } from "./labels.js";
import { makeNotes } from "./notes.js";

const APART = 8; // pixels between the ends of two links of a word

// Where the words of a box stand: the two ends of a curve between s and t, and how it bends.
export function placesOf(box) {
  const places = { s: [], t: [] };
  const frame = box.querySelector(".curves").getBoundingClientRect();
  for (const token of box.querySelectorAll(".token")) {
    places[token.dataset.side].push(token.getBoundingClientRect());
  }
  const across = !box.classList.contains("down");
  const rows = box.classList.contains("rows");
  const end = (a, side) => {
    const edge = side === "s" ? [a?.right + 1, a?.bottom + 1] : [a?.x - 1, a?.y - 1];
    return across
      ? [a?.x + a?.width / 2 - frame.x, edge[1] - frame.y]
      : [edge[0] - frame.x, a?.y + a?.height / 2 - frame.y];
  };
  const bend = (from, to) => {
    const k = across ? 1 : 0;
    const reach = 0.58 * (to[k] - from[k]);
    const out = across ? [from[0], from[1] + reach] : [from[0] + reach, from[1]];
    const back = across ? [to[0], to[1] - reach] : [to[0] - reach, to[1]];
    return { points: [from, out, back, to], d: `M${from} C${out} ${back} ${to}` };
  };
  const sameRow = (s, t) => {
    const [from, to] = [places.s[s], places.t[t]];
    return !rows || (to.y > from.y && to.y - from.y < 3.5 * from.height + 40);
  };
  const room = (side, i) => (across ? places[side][i].width : places[side][i].height);
  return { across, sameRow, bend, room, frame, ends: (s, t) => [end(places.s[s], "s"), end(places.t[t], "t")] };
}

// How far the two ends of each link are from the middle of their words: links of a word end side by side.
function offsetsOf(keys, { ends, room, across }) {
  const offsets = new Map(keys.map((key) => [key, [0, 0]]));
  const k = across ? 0 : 1;
  for (const side of [0, 1]) {
    for (const [i, group] of groupedBy(keys, (key) => positions(key)[side])) {
      if (group.length < 2) continue;
      const partner = (key) => ends(...positions(key))[1 - side][k];
      const step = Math.min(APART, (room(side ? "t" : "s", i) - 8) / (group.length - 1));
      [...group]
        .sort((a, b) => partner(a) - partner(b))
        .forEach((key, n) => (offsets.get(key)[side] = step * (n - (group.length - 1) / 2)));
    }
  }
  return offsets;
}

function groupedBy(keys, name) {
  const groups = new Map();
  for (const key of keys) groups.set(name(key), [...(groups.get(name(key)) ?? []), key]);
  return groups;
}

/** @param {number[]} place */
const shift = ([x, y], off, across) => (across ? [x + off, y] : [x, y + off]);

const FLAT = Math.sin((30 * Math.PI) / 180); // below 30 degrees a halo would shred the other curve

// Where a curve is after a share of its way across is the same for all, so two of a row cross at one t, if they do.
function crossesFlat(a, b, across) {
  const [along, over] = across ? [0, 1] : [1, 0];
  const ends = [a, b].map(({ points }) => [points[0], points[3]]);
  if (Math.abs(ends[0][0][over] - ends[1][0][over]) > 1) return false; // of another row
  const [from, to] = [0, 1].map((end) => ends[1][end][along] - ends[0][end][along]);
  if (from * to >= 0) return false;
  const t = 0.5 - Math.sin(Math.asin(1 - (2 * from) / (from - to)) / 3);
  const [first, second] = [a, b].map(({ points }) => directionAt(points, t));
  return Math.abs(first[0] * second[1] - first[1] * second[0]) < FLAT;
}

// The unit vector along a curve.
function directionAt([a, b, c, d], t) {
  const u = 1 - t;
  const [x, y] = [0, 1].map((k) => u * u * (b[k] - a[k]) + 2 * u * t * (c[k] - b[k]) + t * t * (d[k] - c[k]));
  const length = Math.hypot(x, y) || 1;
  return [x / length, y / length];
}

const STUB = 15; // pixels of a link to another row, which would run through words; as a stub at both of its ends
/** @param {number[]} end */
const placesAtStub = ([x, y]) => [0, -14, 14, -28, 28].map((beside) => [x + beside, y + STUB + 6]);

export function makeCurves(pair, box) {
  const curves = box.querySelector(".curves");
  const places = placesOf(box);
  const { sameRow, ends, bend, across } = places;
  const links = drawnLinks(pair, box.dataset.view);
  const offsets = offsetsOf(links.map(({ key }) => key), places);
  const drawn = links.map((link) => {
    const plain = ends(...positions(link.key));
    const [from, to] = plain.map((end, k) => shift(end, offsets.get(link.key)[k], across));
    const far = !sameRow(...positions(link.key));
    const course = bend(from, to);
    if (far) course.d = `M${from}v${STUB}M${to[0]} ${to[1] - STUB}v${STUB}`;
    return { ...link, ...course, far };
  });
  const taken = [];
  const paths = [];
  const marks = [];
  drawn.forEach((link, i) => {
    const { key, kind, shared, tag, points, d, far } = link;
    const isYours = tag === "yours";
    const classes = (far ? " far" : "") + (shared ? " shared" : "") + (isYours ? " yours" : "");
    const p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    const isFlat = far || drawn.slice(0, i).some((other) => !other.far && crossesFlat(other, link, across));
    if (!onPaper() && !isFlat) paths.push(svg("path", { class: "halo", ...about }));
    const width = kind === "missed" || kind === "other" ? 2 : 1 + 2 * p;
    paths.push(svg("path", { class: `link ${kind}${classes}`, "stroke-width": width.toFixed(2), ...about }));
    if (tag) {
      const size = tag.length > 2 ? LABEL_SIZE : TAG_SIZE;
      const places = far ? placesAtStub(points[0]) : placesAlong(points);
      const [x, y] = takePlace(places, (place) => boxOf(tag, size, place), taken);
      marks.push(svg("text", { class: `tag ${kind}${classes}`, x, y, "data-link": key }, tag));
    }
    marks.push(svg("path", { class: `hit-area${far ? " far" : ""}`, ...about }));
  });
  keepDrawn(box, drawn.filter(({ far }) => !far).map(({ points }) => points), taken);
  const notes = makeNotes(pair, box, places, drawn);
  return () => curves.append(...paths, ...marks, ...notes);
}

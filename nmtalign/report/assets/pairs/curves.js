// The curves of links; those from one row of a long pair to another are faint until they are pointed at.

import { onPaper, state, svg } from "../page.js";
import { positions } from "./pairs.js";
import { drawnLinks, isYours } from "../corrections/corrections.js";
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
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    const k = across ? 1 : 0;
    const reach = 0.58 * (to[k] - from[k]);
    const out = across ? [from[0], from[1] + reach] : [from[0] + reach, from[1]];
    const back = across ? [to[0], to[1] - reach] : [to[0] - reach, to[1]];
    return { middle, points: [from, out, back, to], d: `M${from} C${out} ${back} ${to}` };
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

export function makeCurves(pair, box) {
  const curves = box.querySelector(".curves");
  const places = placesOf(box);
  const { sameRow, ends, bend, across } = places;
  const links = drawnLinks(pair, box.dataset.view);
  const offsets = offsetsOf(links.map(({ key }) => key), places);
  const paths = [];
  const marks = [];
  const drawn = [];
  for (const { key, kind, shared, tag } of links) {
    const plain = ends(...positions(key));
    const [from, to] = plain.map((end, k) => shift(end, offsets.get(key)[k], across));
    const far = (sameRow(...positions(key)) ? "" : " far") + (shared ? " shared" : "");
    const yours = state.edit && isYours(pair, key) ? " yours" : "";
    const { middle, points, d } = bend(from, to);
    const p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    if (!onPaper() && !far) paths.push(svg("path", { class: "halo", ...about }));
    const width = kind === "missed" || kind === "other" ? 2 : 1 + 2 * p;
    paths.push(svg("path", { class: `link ${kind}${far}${yours}`, "stroke-width": width.toFixed(2), ...about }));
    if (tag || yours) {
      const where = { x: middle[0], y: middle[1], "data-link": key };
      marks.push(svg("text", { class: `tag ${kind}${far}${yours}`, ...where }, yours ? "yours" : tag));
    }
    marks.push(svg("path", { class: `hit-area${far}`, ...about }));
    drawn.push({ key, kind, far, points, middle });
  }
  const notes = makeNotes(pair, box, places, drawn);
  return () => curves.append(...paths, ...marks, ...notes);
}

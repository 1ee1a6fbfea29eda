// The curves of links; those from one row of a long pair to another are faint until they are pointed at.

import { svg } from "../page.js";
import { TAGS, positions } from "./pairs.js";
import { drawnLinks } from "./corrections.js";

// Where the words of a box stand: the two ends of a curve between s and t, and how it bends.
export function placesOf(box) {
  const places = { s: [], t: [] };
  const frame = box.querySelector(".curves").getBoundingClientRect();
  for (const token of box.querySelectorAll(".token")) {
    places[token.dataset.side].push(token.getBoundingClientRect());
  }
  const across = !box.classList.contains("down");
  const end = (a, side) => {
    const edge = side === "s" ? [a?.right + 1, a?.bottom + 1] : [a?.x - 1, a?.y - 1];
    return across
      ? [a?.x + a?.width / 2 - frame.x, edge[1] - frame.y]
      : [edge[0] - frame.x, a?.y + a?.height / 2 - frame.y];
  };
  const bend = (from, to) => {
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    return {
      middle,
      d: `M${from} C${across ? [from[0], middle[1], to[0], middle[1]] : [middle[0], from[1], middle[0], to[1]]} ${to}`,
    };
  };
  const sameRow = (s, t) => {
    const [from, to] = [places.s[s], places.t[t]];
    return !across || (to.y > from.y && to.y - from.y < 3.5 * from.height + 40);
  };
  return { across, sameRow, bend, ends: (s, t) => [end(places.s[s], "s"), end(places.t[t], "t")] };
}

export function makeCurves(pair, box) {
  const curves = box.querySelector(".curves");
  const { sameRow, ends, bend } = placesOf(box);
  const paths = [];
  const marks = [];
  for (const [key, kind] of drawnLinks(pair)) {
    const [from, to] = ends(...positions(key));
    const far = sameRow(...positions(key)) ? "" : " far";
    const { middle, d } = bend(from, to);
    const p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    paths.push(svg("path", { class: `link ${kind}${far}`, "stroke-width": (1 + 1.6 * p).toFixed(2), ...about }));
    if (TAGS[kind]) {
      marks.push(
        svg("text", { class: `tag ${kind}${far}`, x: middle[0], y: middle[1], "data-link": key }, TAGS[kind]),
      );
    }
    marks.push(svg("path", { class: `hit-area${far}`, ...about }));
  }
  return () => curves.append(...paths, ...marks);
}

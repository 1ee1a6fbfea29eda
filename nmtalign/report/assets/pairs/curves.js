// The curves of links; those from one row of a long pair to another are faint until they are pointed at.

import { download, svg } from "../page.js";
import { positions } from "./pairs.js";
import { drawnLinks } from "../corrections/corrections.js";

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
  for (const { key, kind, shared, tag } of drawnLinks(pair, box.dataset.view)) {
    const [from, to] = ends(...positions(key));
    const far = (sameRow(...positions(key)) ? "" : " far") + (shared ? " shared" : "");
    const { middle, d } = bend(from, to);
    const p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    paths.push(svg("path", { class: `link ${kind}${far}`, "stroke-width": (1 + 1.6 * p).toFixed(2), ...about }));
    if (tag) {
      const where = { x: middle[0], y: middle[1], "data-link": key };
      marks.push(svg("text", { class: `tag ${kind}${far}`, ...where }, tag));
    }
    marks.push(svg("path", { class: `hit-area${far}`, ...about }));
  }
  return () => curves.append(...paths, ...marks);
}

const AS_SEEN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight"];
const MARGIN = 12; // around a picture that is saved

// The words and curves of a card as a file of their own, in the colors that are seen; text stays text.
export function saveCurves(pair) {
  const boxes = [...pair.card.querySelectorAll(".sentences")];
  const heads = [...pair.card.querySelectorAll(".view figcaption")];
  const frames = [...boxes, ...heads].map((node) => node.getBoundingClientRect());
  const far = (which, edge) => Math[which](...frames.map((frame) => frame[edge]));
  const [x, y] = [far("min", "x") - MARGIN, far("min", "y") - MARGIN];
  const [wide, high] = [far("max", "right") - x + MARGIN, far("max", "bottom") - y + MARGIN];
  const ground = getComputedStyle(pair.card).backgroundColor;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, "font-family": "system-ui, Noto Sans, sans-serif" },
    svg("title", {}, `Pair ${pair.n}`),
    svg("rect", { width: wide, height: high, fill: ground }),
  );
  for (const head of heads) {
    const at = head.getBoundingClientRect();
    const style = { "font-size": 13, "font-weight": 600, fill: getComputedStyle(head).color };
    picture.append(svg("text", { x: at.x - x, y: at.y - y + 14, ...style }, head.firstChild.data));
  }
  for (const box of boxes) addBox(pair, picture, box, x, y);
  download(`pair-${pair.n}.svg`, [new XMLSerializer().serializeToString(picture)], "image/svg+xml");
}

function addBox(pair, picture, box, x, y) {
  const curves = box.querySelector(".curves").getBoundingClientRect();
  const group = svg("g", { transform: `translate(${curves.x - x} ${curves.y - y})` });
  for (const node of box.querySelectorAll(".curves :is(path:not(.hit-area), text)")) {
    const style = getComputedStyle(node);
    const copy = node.cloneNode(true);
    for (const name of ["class", "data-link"]) copy.removeAttribute(name);
    for (const name of AS_SEEN) copy.setAttribute(name, style.getPropertyValue(name));
    if (node.matches("text")) {
      for (const name of ["text-anchor", "dominant-baseline", "paint-order"]) {
        copy.setAttribute(name, style.getPropertyValue(name));
      }
    }
    group.append(copy);
  }
  picture.append(group);
  for (const token of box.querySelectorAll(".token")) {
    const at = token.getBoundingClientRect();
    const place = { x: at.x - x + at.width / 2, y: at.y - y + at.height / 2 };
    const style = { "font-size": 15, "text-anchor": "middle", "dominant-baseline": "central" };
    const word = pair.shown[token.dataset.side][token.dataset.at] || token.firstChild.data;
    picture.append(svg("text", { ...place, ...style, fill: getComputedStyle(token).color }, word));
  }
}

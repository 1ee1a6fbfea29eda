// The words and curves of a card as a file of their own, in the colors that are seen; text stays text.

import { download, svg } from "../page.js";

const AS_SEEN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight"];
const OF_TEXT = ["text-anchor", "dominant-baseline", "paint-order"];
const MARGIN = 24; // around a picture that is saved

export function saveCard(pair) {
  const boxes = [...pair.card.querySelectorAll(".sentences")];
  const heads = [...pair.card.querySelectorAll(".view figcaption")];
  const matrices = [...pair.card.querySelectorAll(".matrix .pan > svg")];
  const frames = [...boxes, ...heads, ...matrices].map((node) => node.getBoundingClientRect());
  const far = (which, edge) => Math[which](...frames.map((frame) => frame[edge]));
  const [x, y] = [far("min", "x") - MARGIN, far("min", "y") - MARGIN];
  const [wide, high] = [far("max", "right") - x + MARGIN, far("max", "bottom") - y + MARGIN];
  const ground = getComputedStyle(pair.card).backgroundColor;
  const headline = pair.card.querySelector(".why .headline")?.textContent ?? "";
  const say = pair.card.querySelector(".why .say")?.textContent ?? "";
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, "font-family": "system-ui, Noto Sans, sans-serif" },
    svg("title", {}, headline || `Pair ${pair.n}`),
    svg("desc", {}, say),
    svg("rect", { width: wide, height: high, fill: ground }),
  );
  for (const head of heads) {
    const at = head.getBoundingClientRect();
    const style = { "font-size": 13, "font-weight": 600, fill: getComputedStyle(head).color };
    picture.append(svg("text", { x: at.x - x, y: at.y - y + 14, ...style }, head.firstChild.data));
  }
  for (const box of boxes) addBox(pair, picture, box, x, y);
  for (const matrix of matrices) addDrawing(picture, matrix, x, y);
  download(`pair-${pair.n}.svg`, [new XMLSerializer().serializeToString(picture)], "image/svg+xml");
}

// A copy of a drawing with the style that it is seen with.
function addDrawing(picture, drawing, x, y, leaveOut = ".hit-area") {
  const at = drawing.getBoundingClientRect();
  const group = svg("g", { transform: `translate(${at.x - x} ${at.y - y})` });
  const copy = (node, into) => {
    if (node.matches(leaveOut)) return;
    const own = node.cloneNode(false);
    const style = getComputedStyle(node);
    if (style.display === "none") return;
    if (node.matches("g")) {
      for (const child of node.children) copy(child, own);
      for (const name of ["class", "lang"]) own.removeAttribute(name);
      return into.append(own);
    }
    for (const name of ["class", "data-link", "data-side", "data-at"]) own.removeAttribute(name);
    for (const name of [...AS_SEEN, "fill-opacity"]) own.setAttribute(name, style.getPropertyValue(name));
    if (node.matches("text")) {
      for (const name of OF_TEXT) own.setAttribute(name, style.getPropertyValue(name));
      own.textContent = node.textContent;
    }
    into.append(own);
  };
  for (const child of drawing.children) copy(child, group);
  picture.append(group);
}

function addBox(pair, picture, box, x, y) {
  addDrawing(picture, box.querySelector(".curves"), x, y);
  for (const token of box.querySelectorAll(".token")) {
    const at = token.getBoundingClientRect();
    const place = { x: at.x - x + at.width / 2, y: at.y - y + at.height / 2 };
    const { color, fontSize } = getComputedStyle(token);
    const style = { "font-size": fontSize, "text-anchor": "middle", "dominant-baseline": "central", fill: color };
    const word = pair.shown[token.dataset.side][token.dataset.at] || token.firstChild.data;
    picture.append(svg("text", { ...place, ...style }, word));
  }
}

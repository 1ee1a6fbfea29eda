// The attention of a word: a violet curve to every word of the other side, as wide as its weight. The two largest
// weights are written on their curves, and that of the null word next to the word.

import { quote, share, svg, wholePercent } from "../page.js";
import { OTHER, extentOf, weightsOf } from "./pairs.js";
import { wordAt } from "./words.js";
import { placesOf } from "./curves.js";

const LEAST = 0.005; // smaller weights have no curve
const LABELED = 2; // curves with their weight

// The weights with which a word looks at the other side: those of its direction, where they are known.
export function directionView(pair, side) {
  const view = side === "s" ? "reverse" : "forward";
  return pair.m[view] ? view : "combined";
}

// Weights over the words of the other side, and what null has where that is known, else null.
export function attentionOf(pair, side, i, view) {
  const source = side === "s";
  const w = weightsOf(pair, view);
  const weights = pair[OTHER[side]].map((_, j) => w[source ? j * pair.S + i : i * pair.S + j]);
  const known =
    (source ? ["combined", "reverse"] : ["combined", "forward"]).includes(view) &&
    (source ? pair.ns : pair.nt);
  return { weights, none: known ? known[i] / 1000 : 0 };
}

// Whether weights of a view can be read as shares of 100 %.
export function isShare(view) {
  const [low, high] = extentOf(view);
  return low >= 0 && high <= 1;
}

export const tellWeight = (view, w) => (isShare(view) ? wholePercent(w) : share(w));

export function tellAttention(pair, side, i, view) {
  const { weights, none } = attentionOf(pair, side, i, view);
  const words = [[none, "no partner"], ...weights.map((w, j) => [w, quote(pair.shown[OTHER[side]][j])])].filter(
    ([w]) => w >= LEAST,
  );
  const told = words
    .sort(([a], [b]) => b - a)
    .slice(0, 4)
    .map(([w, word]) => `${word} ${tellWeight(view, w)}`);
  return told.length ? told.join(", ") + (words.length > 4 ? `, ${words.length - 4} more` : "") : "nothing";
}

// In each box of a card, which is of one view; weights above 1 are scores, and shown beside the largest.
export function drawAttention(pair, card, side, i) {
  clearAttention(card);
  for (const box of card.querySelectorAll(".sentences")) {
    const shown = box.dataset.view;
    const view = shown === "combined" ? directionView(pair, side) : shown;
    const { weights, none } = attentionOf(pair, side, i, view);
    const { ends, bend, across } = placesOf(box);
    const whole = Math.max(1, extentOf(view)[1]);
    const drawn = svg("g", { class: "attention" });
    const labels = [];
    const largest = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).slice(0, LABELED);
    weights.forEach((weight, j) => {
      const w = weight / whole;
      if (w < LEAST) return;
      const [from, to] = side === "s" ? ends(i, j) : ends(j, i);
      const { d, middle } = bend(from, to);
      const style = { "stroke-width": (0.7 + 6 * w).toFixed(2), opacity: (0.35 + 0.5 * w).toFixed(2) };
      drawn.append(svg("path", { d, ...style }));
      if (largest.includes(j)) {
        const told = tellWeight(view, weight);
        labels.push(across ? labelOf(middle, told) : labelAtEnd(side === "s" ? to : from, side, told));
      }
      wordAt(box, OTHER[side], j).classList.add("attended");
    });
    const written = svg("g", { class: "attention" }, ...labels);
    if (none >= LEAST) {
      written.append(labelOfNone(side === "s" ? ends(i, 0)[0] : ends(0, i)[1], side, tellWeight(view, none), box));
    }
    box.querySelector(".curves").prepend(drawn);
    box.querySelector(".curves").append(written);
  }
}

/** @param {number[]} place */
const labelOf = ([x, y], text) => svg("text", { x: x - 10, y }, text);

// In columns the weight is below the end of its curve at the word that is looked at; "no partner" is above the other.
/** @param {number[]} place */
function labelAtEnd([x, y], side, text) {
  const anchor = side === "s" ? "end" : "start";
  return svg("text", { x: side === "s" ? x - 8 : x + 8, y: y + 10, "text-anchor": anchor }, text);
}

// Above a source word and below a target word, in the space that is kept for notes; beside the words of a column.
/** @param {number[]} place */
function labelOfNone([x, y], side, text, box) {
  const way = side === "s" ? -1 : 1;
  const word = box.querySelector(".token").getBoundingClientRect().height;
  const place = box.classList.contains("down")
    ? { x: x - 6 * way, y: y - 16, "text-anchor": side === "s" ? "start" : "end" }
    : { x, y: y + way * (word + (box.classList.contains("rows") ? 4 : 12)) };
  return svg("text", { class: "none", ...place }, `no partner ${text}`);
}

export function clearAttention(card) {
  for (const drawn of card.querySelectorAll(".attention")) drawn.remove();
  for (const word of card.querySelectorAll(".attended")) word.classList.remove("attended");
}

// The probability of a link that is pointed at, on its curve.
export function labelCurve(card, key, text) {
  clearAttention(card);
  for (const path of card.querySelectorAll(`.sentences .link[data-link="${key}"]`)) {
    const box = path.closest(".sentences");
    const [s, t] = key.split("-").map(Number);
    const { ends, bend } = placesOf(box);
    const label = svg("g", { class: "attention of-link" });
    const [x, y] = bend(...ends(s, t)).middle;
    label.append(svg("text", { x, y }, text));
    path.parentNode.append(label);
  }
}

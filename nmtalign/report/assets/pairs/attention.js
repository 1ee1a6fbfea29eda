// The attention of a word: a violet curve to every word of the other side, as wide as its weight. The two largest
// weights are written on their curves, and that of the null word next to the word.

import { clamp, quote, share, svg, wholePercent, width } from "../page.js";
import { LABEL_SIZE, boxOf, drawnBoxes, marksIn, placesAlong, takePlace } from "./labels.js";
import { OTHER, extentOf, isShare, shownWeights } from "./pairs.js";
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
  const w = shownWeights(pair, view);
  const weights = pair[OTHER[side]].map((_, j) => w[source ? j * pair.S + i : i * pair.S + j]);
  const known =
    (source ? ["combined", "reverse"] : ["combined", "forward"]).includes(view) &&
    (source ? pair.ns : pair.nt);
  return { weights, none: known ? known[i] / 1000 : 0 };
}

// Only the one number of a link is told in percent; weights of other views, which a reader has chosen, are decimals.
export const tellWeight = (view, w) => (view === "combined" && isShare(view) ? wholePercent(w) : share(w));

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
    const { ends, bend, across, frame } = placesOf(box);
    const whole = Math.max(1, extentOf(view)[1]);
    const drawn = svg("g", { class: "attention" });
    const labels = [];
    const taken = drawnBoxes(box);
    const largest = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]).slice(0, LABELED);
    weights.forEach((weight, j) => {
      const w = weight / whole;
      if (w < LEAST) return;
      const [from, to] = side === "s" ? ends(i, j) : ends(j, i);
      const { d, points } = bend(from, to);
      const style = { "stroke-width": (0.7 + 6 * w).toFixed(2), opacity: (0.35 + 0.5 * w).toFixed(2) };
      drawn.append(svg("path", { d, ...style }));
      if (largest.includes(j)) {
        const end = side === "s" ? to : from;
        const at = side === "s" ? j * pair.S + i : i * pair.S + j;
        const text = tellWeight(shown, shownWeights(pair, shown)[at]);
        labels.push(across ? labelOf(points, text, taken, frame.width) : labelAtEnd(end, side, text, taken));
      }
      wordAt(box, OTHER[side], j).classList.add("attended");
    });
    const written = svg("g", { class: "attention" }, ...labels);
    if (none >= LEAST) {
      const place = side === "s" ? ends(i, 0)[0] : ends(0, i)[1];
      written.append(labelOfNone(place, side, wholePercent(none), box, taken));
    }
    box.querySelector(".curves").prepend(drawn);
    box.querySelector(".curves").append(written);
  }
}

// Beside its curve, where no other curve, mark or label is.
function labelOf(points, text, taken, room) {
  const wide = width(text, LABEL_SIZE);
  const places = placesAlong(points).flatMap(([x, y]) => [[x - 10, y], [x + 10 + wide, y]]); // of the end of the text
  const inside = places.filter(([x]) => x >= wide && x <= room);
  const [x, y] = takePlace(inside.length ? inside : places, (place) => boxOf(text, LABEL_SIZE, place, "end"), taken);
  return svg("text", { x, y }, text);
}

// In columns the weight is below the end of its curve at the word that is looked at; "no partner" is above the other.
/** @param {number[]} place */
function labelAtEnd([x, y], side, text, taken) {
  const anchor = side === "s" ? "end" : "start";
  const places = [12, -12, 22].map((down) => [side === "s" ? x - 8 : x + 8, y + down]);
  const place = takePlace(places, (one) => boxOf(text, LABEL_SIZE, one, anchor), taken);
  return svg("text", { x: place[0], y: place[1], "text-anchor": anchor }, text);
}

// Above a source word and below a target word, in the space that is kept for notes; beside the words of a column, where
// the fewest curves are.
/** @param {number[]} place */
function labelOfNone([x, y], side, told, box, taken) {
  const text = `no partner ${told}`;
  const way = side === "s" ? -1 : 1;
  if (box.classList.contains("down")) {
    const anchor = side === "s" ? "start" : "end";
    const places = [-16, 16, -26, 26].map((down) => [x - 6 * way, y + down]);
    const best = takePlace(places, (one) => boxOf(text, LABEL_SIZE, one, anchor), taken);
    return svg("text", { class: "none", x: best[0], y: best[1], "text-anchor": anchor }, text);
  }
  const half = width(text, LABEL_SIZE) / 2;
  const wide = box.querySelector(".curves").getBoundingClientRect().width;
  const word = box.querySelector(".token").getBoundingClientRect().height;
  const inside = clamp(x, Math.min(half, wide / 2), Math.max(wide - half, wide / 2));
  const away = word + (box.classList.contains("rows") ? 4 : 12);
  return svg("text", { class: "none", x: inside, y: y + way * away }, text);
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
    const { points } = bend(...ends(s, t));
    const places = path.classList.contains("far") ? [points[0]] : placesAlong(points);
    const [x, y] = takePlace(places, (place) => boxOf(text, LABEL_SIZE, place), marksIn(box));
    label.append(svg("text", { x, y }, text));
    path.parentNode.append(label);
  }
}

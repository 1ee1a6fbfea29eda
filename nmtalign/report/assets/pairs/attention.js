// The attention of a word: a curve to every word of the other side, as wide as its weight, and a stub for null.

import { quote, share, svg } from "../page.js";
import { OTHER, extentOf, weightsOf } from "./pairs.js";
import { wordAt } from "./words.js";
import { placesOf } from "./curves.js";

const LEAST = 0.005; // smaller weights are no curve

// Weights over the words of the other side, and what null has where that is known.
export function attentionOf(pair, side, i, view) {
  const source = side === "s";
  const w = weightsOf(pair, view);
  const weights = pair[OTHER[side]].map((_, j) => w[source ? j * pair.S + i : i * pair.S + j]);
  const known =
    (source ? ["combined", "reverse"] : ["combined", "forward"]).includes(view) &&
    (source ? pair.ns : pair.nt);
  return { weights, none: known ? known[i] / 1000 : 0 };
}

export function tellAttention(pair, side, i, view) {
  const { weights, none } = attentionOf(pair, side, i, view);
  const words = [[none, "no partner"], ...weights.map((w, j) => [w, quote(pair.shown[OTHER[side]][j])])].filter(
    ([w]) => w >= LEAST,
  );
  const told = words
    .sort(([a], [b]) => b - a)
    .slice(0, 4)
    .map(([w, word]) => `${word} ${share(w)}`);
  return told.length ? told.join(", ") + (words.length > 4 ? `, ${words.length - 4} more` : "") : "nothing";
}

// In each box of a card, which is of one view; weights above 1 are scores, and shown beside the largest.
export function drawAttention(pair, card, side, i) {
  clearAttention(card);
  for (const box of card.querySelectorAll(".sentences")) {
    const view = box.dataset.view;
    const { weights, none } = attentionOf(pair, side, i, view);
    const { ends, bend, across } = placesOf(box);
    const whole = Math.max(1, extentOf(view)[1]);
    const drawn = svg("g", { class: "attention" });
    const line = (d, w) =>
      drawn.append(
        svg("path", { d, "stroke-width": (0.7 + 9 * w).toFixed(2), opacity: (0.35 + 0.5 * w).toFixed(2) }),
      );
    weights.forEach((weight, j) => {
      const w = weight / whole;
      if (w < LEAST) return;
      const [from, to] = side === "s" ? ends(i, j) : ends(j, i);
      const word = wordAt(box, OTHER[side], j);
      line(bend(from, to).d, w);
      word.classList.add("attended");
      word.style.setProperty("--weight", w.toFixed(3));
    });
    const [x, y] = (side === "s" ? ends(i, 0) : ends(0, i))[side === "s" ? 0 : 1];
    const way = side === "s" ? 1 : -1;
    if (none >= LEAST) {
      // aslant, beside the curve to the word that is opposite
      const [dx, dy] = across ? [-11, 13 * way] : [13 * way, 11];
      line(`M${x} ${y}l${dx} ${dy}`, none);
      drawn.append(svg("text", { x: x + 1.6 * dx, y: y + 1.6 * dy }, "∅"));
    }
    box.querySelector(".curves").prepend(drawn);
  }
}

export function clearAttention(card) {
  for (const drawn of card.querySelectorAll(".attention")) drawn.remove();
  for (const word of card.querySelectorAll(".attended")) {
    word.classList.remove("attended");
    word.style.removeProperty("--weight");
  }
}

// The attention of a word: a curve to every word of the other side, as wide as its weight, and a stub for null.

const OTHER = { s: "t", t: "s" };
const LEAST = 0.005; // smaller weights are no curve

// Weights over the words of the other side, and what null has where that is known.
function attentionOf(pair, side, i, view) {
  const source = side === "s", w = weightsOf(pair, view);
  const weights = pair[OTHER[side]].map((_, j) => w[source ? j * pair.S + i : i * pair.S + j]);
  const known = (source ? ["combined", "reverse"] : ["combined", "forward"]).includes(view) && (source ? pair.ns : pair.nt);
  return { weights, none: known ? known[i] / 1000 : 0 };
}

function tellAttention(pair, side, i, view) {
  const { weights, none } = attentionOf(pair, side, i, view);
  const words = [[none, "no partner"], ...weights.map((w, j) => [w, quote(pair[OTHER[side]][j])])].filter(([w]) => w >= LEAST);
  const told = words.sort(([a], [b]) => b - a).slice(0, 4).map(([w, word]) => `${word} ${share(w)}`);
  return told.length ? told.join(", ") + (words.length > 4 ? `, ${words.length - 4} more` : "") : "nothing";
}

// In each box of a card, which is of one view; weights above 1 are scores, and shown beside the largest.
function drawFan(pair, card, side, i) {
  clearFan(card);
  for (const box of card.querySelectorAll(".sentences")) {
    const view = box.dataset.view, { weights, none } = attentionOf(pair, side, i, view), { ends, bend, across } = placesOf(box);
    const whole = Math.max(1, pair.m[view]?.[1] ?? 1), fan = svg("g", { class: "fan" });
    const line = (d, w) => fan.append(svg("path", { d, "stroke-width": (0.7 + 9 * w).toFixed(2), opacity: (0.35 + 0.5 * w).toFixed(2) }));
    weights.forEach((weight, j) => {
      const w = weight / whole;
      if (w < LEAST) return;
      const [from, to] = side === "s" ? ends(i, j) : ends(j, i), word = wordAt(box, OTHER[side], j);
      line(bend(from, to).d, w);
      word.classList.add("fanned");
      word.style.setProperty("--weight", w.toFixed(3));
    });
    const [x, y] = (side === "s" ? ends(i, 0) : ends(0, i))[side === "s" ? 0 : 1], way = side === "s" ? 1 : -1;
    if (none >= LEAST) {
      const [dx, dy] = across ? [-11, 13 * way] : [13 * way, 11]; // aslant, beside the curve to the word that is opposite
      line(`M${x} ${y}l${dx} ${dy}`, none);
      fan.append(svg("text", { x: x + 1.6 * dx, y: y + 1.6 * dy }, "∅"));
    }
    box.querySelector(".curves").prepend(fan);
  }
}

function clearFan(card) {
  for (const fan of card.querySelectorAll(".fan")) fan.remove();
  for (const word of card.querySelectorAll(".fanned")) { word.classList.remove("fanned"); word.style.removeProperty("--weight"); }
}

// ---- a word that was clicked keeps its fan; a second click, or Escape, lets it go -------------------------

function pin(pair, side, i) {
  const same = pair.pinned?.side === side && pair.pinned.i === i;
  pair.pinned = side === null || same ? null : { side, i };
  showPinned(pair);
}

function showPinned(pair) {
  const held = pair.pinned, card = pair.card;
  for (const word of card.querySelectorAll(".token")) word.setAttribute("aria-pressed", String(held?.side === word.dataset.side && held.i === Number(word.dataset.at)));
  card.classList.toggle("lit", held !== null);
  if (held) lightWord(pair, card, held.side, held.i); else clearFan(card);
}

// The pairs of the report and their links. Letters: s source position, t target position, S and T their counts;
// weights[t * S + s].

import { data, directionOf, isolate, onPaper, state } from "../page.js";

function decode([low, high, at], size) {
  const weights = new Float32Array(size);
  for (let i = 0; i < size; i++) weights[i] = low + ((high - low) * data.levels[at + i]) / 255;
  return weights;
}

function flatSet(flat, step = 2) {
  const map = new Map();
  for (let i = 0; i < flat.length; i += step) {
    map.set(`${flat[i]}-${flat[i + 1]}`, step === 3 ? flat[i + 2] : 1);
  }
  return map;
}

// The AER of links against gold, where either has any.
function errorOf(links, gold) {
  const sure = [...gold.values()].filter(Boolean).length;
  const right = [...links.keys()].filter((key) => gold.has(key));
  const size = links.size + sure;
  return size ? 1 - (right.length + right.filter((key) => gold.get(key)).length) / size : null;
}

// What only some pairs are asked for is read when it is.
export class Pair {
  folded;
  lowered;
  n; s; t; l; g; o; m; c; bf; br; nt; ns; p; a; u; // as in the data
  S; T;
  card = null; // while it is in the page
  height = 0; // of its card, where that has been drawn
  decoded = {};
  pinned = null; // { side, i, others: further words that are held } or a cell { s, t }; made: links just changed
  editing = false;
  check = null;
  told = null; // its error to begin with
  cursors = []; // what lights words and cells in its matrices, while it is in the page
  cursor = null; // the cell that the keys have come to
  h;
  reviewed = null; // its correction, where somebody has looked
  isOfFile = false; // whether the report was made with a correction of it, which is its gold
  #links; #gold; #others; #directions; #shown;
  #chosen = new Map();

  constructor(raw) {
    Object.assign(this, raw, { S: raw.s.length, T: raw.t.length });
  }

  // "s-t" -> probability in thousandths
  get links() {
    return (this.#links ??= flatSet(this.l, 3));
  }

  // The links that judge: "s-t" -> 1 sure, 0 possible. Null in a pair that the report has no gold of: the reader has
  // made its correction from these very links.
  get gold() {
    return this.inherited || this.isOfFile ? (this.reviewed?.links ?? this.inherited) : null;
  }

  // the gold that the report was made with
  get inherited() {
    return (this.#gold ??= this.g && flatSet(this.g, 3));
  }

  get error() {
    return this.reviewed && this.gold ? errorOf(this.links, this.gold) : this.a;
  }

  // the AER of another system, or, in a report without gold, its F1 with the links; null where one is not known
  scoreOf(i) {
    const other = this.others[i];
    if (!other) return null;
    if (data.gold) return this.gold && errorOf(other, this.gold);
    return 1 - (errorOf(this.links, other) ?? 0);
  }

  // what a direction, or a part, would choose alone
  chosenBy(view) {
    if (!this.#chosen.has(view)) {
      const best = { forward: this.bf.map((s, t) => [s, t]), reverse: this.br.map((t, s) => [s, t]) }[view];
      const flat = best ? best.filter((link) => !link.includes(-1)).flat() : (this.c[view] ?? []);
      this.#chosen.set(view, flatSet(flat));
    }
    return this.#chosen.get(view);
  }

  get others() {
    return (this.#others ??= this.o.map((flat) => flatSet(flat)));
  }

  // of the sentences: "ltr" or "rtl"
  get directions() {
    return (this.#directions ??= { s: directionOf(this.s.join(" ")), t: directionOf(this.t.join(" ")) });
  }

  // the words as they stand in other texts, as labels and in quotes
  get shown() {
    const isolated = (side) => this[side].map((word) => isolate(word, this.directions[side]));
    return (this.#shown ??= { s: isolated("s"), t: isolated("t") });
  }
}

export const pairs = data.pairs.map((raw) => new Pair(raw));

// The direction of most sentences of a side.
export function directionOfSide(side) {
  const turned = pairs.filter((pair) => pair.directions[side] === "rtl").length;
  return 2 * turned > pairs.length ? "rtl" : "ltr";
}

export const byNumber = new Map(pairs.map((pair) => [`pair-${pair.n}`, pair]));

// A view names weights: combined, forward, reverse, a part; or links as weights of 1: =links, =gold, =0 (another
// system).
export function weightsOf(pair, view) {
  return (pair.decoded[view] ??= pair.m[view]
    ? decode(pair.m[view], pair.S * pair.T)
    : cellsOf(pair, linksOf(pair, view)));
}

export const extents = new Map();

// The smallest and the largest weight of a view in all pairs, so that a color means the same in all of them; of another
// system also those of the report.
export function extentOf(view) {
  if (!extents.has(view)) {
    const alike = view[0] === "=" ? [view, "combined"] : [view];
    const own = pairs.filter(({ m }) => m[view]).flatMap(({ m }) => alike.map((name) => m[name]));
    const least = own.reduce((low, [one]) => Math.min(low, one), Infinity);
    const most = own.reduce((high, [, one]) => Math.max(high, one), -Infinity);
    extents.set(view, own.length ? [least, most] : [0, 1]);
  }
  return extents.get(view);
}

export function linksOf(pair, view) {
  if (view === "combined" || view === "=links") return pair.links;
  if (view[0] !== "=") return pair.chosenBy(view);
  return view === "=gold" ? pair.gold : pair.others[view.slice(1)];
}

const hasView = (pair, view) => Boolean(pair.m[view] ?? (view[0] === "=" && linksOf(pair, view)));
export const viewOf = (pair) => (!pair.editing && hasView(pair, state.view) ? state.view : "combined");
export const besideOf = (pair) =>
  !onPaper() && !pair.editing && hasView(pair, state.beside) && state.beside !== viewOf(pair) ? state.beside : null;
export const nameOf = (view) =>
  view[0] !== "=" ? view : (data.others[view.slice(1)] ?? (view === "=gold" ? "gold" : "links"));

// What the number of a cell is, as in "combined probability".
const kindOf = (view) =>
  view[0] === "="
    ? "links"
    : view === "scores"
      ? "score"
      : view === "combined"
        ? data.views.includes("forward")
          ? "probability"
          : "weight"
        : ["forward", "reverse"].includes(view)
          ? "attention"
          : data.parts;

export const toldView = (view) => (view[0] === "=" ? nameOf(view) : `${nameOf(view)} ${kindOf(view)}`);

// Whether weights of a view can be read as shares of 100 %.
export function isShare(view) {
  const [low, high] = extentOf(view);
  return low >= 0 && high <= 1;
}

// One number for one link: its probability, which is calibrated. Other cells have their weights.
export function shownWeights(pair, view) {
  if (view !== "combined" || !isShare(view)) return weightsOf(pair, view);
  return (pair.decoded.shown ??= withProbabilities(pair, weightsOf(pair, view)));
}

function withProbabilities(pair, w) {
  const cells = Float64Array.from(w);
  for (const [key, thousandths] of pair.links) {
    const [s, t] = positions(key);
    cells[t * pair.S + s] = thousandths / 1000;
  }
  return cells;
}

function cellsOf(pair, links) {
  const cells = new Float32Array(pair.S * pair.T);
  for (const key of links.keys()) {
    const [s, t] = positions(key);
    cells[t * pair.S + s] = 1;
  }
  return cells;
}

export const positions = (key) => key.split("-").map(Number);
export const OTHER = { s: "t", t: "s" };

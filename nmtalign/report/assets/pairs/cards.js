// The card of a pair: its words, curves and matrices.

import { clamp, data, html, onPaper, percent, room, state } from "../page.js";
import { besideOf, viewOf } from "./pairs.js";
import { letterOf, nameOfPanel, tellPanel } from "../panels.js";
import { markFound } from "../search.js";
import { editorOf, isChanged } from "../corrections/corrections.js";
import { isLong, sizeOfColumns, sizeOfWords } from "./words.js";
import { makeCurves, saveCurves } from "./curves.js";
import { showPinned } from "./light.js";
import { drawSentences } from "./sentences.js";
import { drawMatrix, matrixSizes } from "./matrix.js";

// What the head of a card says, in which a correction changes the errors.
function factsOf(pair) {
  const facts = [`${pair.S} : ${pair.T} words`, `${pair.links.size} links`];
  if (pair.p !== null) facts.push(`score ${pair.p.toFixed(2)}`);
  if (pair.told) facts.push(isChanged(pair) ? `${pair.told}, as reported` : pair.told);
  const others = data.others.map((name, i) => `${name} ${percent(pair.scoreOf(i))}`);
  const error = pair.error === null ? [] : [`AER ${percent(pair.error)}`];
  if (data.gold) facts.push([...error, ...others].join(", "));
  else facts.push(...error, ...others.map((other) => `F1 with ${other}`));
  return facts.map((fact) => html("span", { class: "fact" }, fact));
}

export function tellFacts(pair) {
  const head = pair.card.firstElementChild;
  for (const fact of head.querySelectorAll(".fact")) fact.remove();
  head.firstElementChild.after(...factsOf(pair));
}

export function makeCard(pair) {
  const told = { "aria-label": `Save pair ${pair.n} as SVG`, title: "Save as SVG" };
  const save = html("button", { type: "button", class: "save", ...told }, "↓");
  save.addEventListener("click", () => saveCurves(pair));
  const head = html(
    "header",
    {},
    html("h3", { id: `head-${pair.n}` }, html("a", { href: `#pair-${pair.n}` }, `Pair ${pair.n}`)),
    ...factsOf(pair),
    ...editorOf(pair),
    save,
  );
  const about = { class: "pair", id: `pair-${pair.n}`, "aria-labelledby": head.firstElementChild.id };
  return html("article", about, head, html("div", { class: "body" }));
}

const GAP_ON_PAPER = 8; // as in the style sheet

// How high a card may be, before it is drawn.
export function guessHeight(pair) {
  const wide = Math.max(...[pair.s, pair.t].map((words) => words.join("  ").length * 8));
  if (isLong(pair)) {
    const rows = Math.ceil((1.2 * wide) / (room * (state.matrices ? 0.52 : 1)));
    return 60 + Math.max(state.matrices ? 600 : 0, 130 * rows);
  }
  const words = wide < (state.matrices ? 0.5 : 1) * room ? 136 : Math.max(pair.S, pair.T) * 24.8;
  const cell = clamp(440 / Math.max(pair.S, pair.T, 1), 11, 27);
  return 60 + Math.max(words, state.matrices ? pair.T * cell + 105 : 0);
}

function drawWords(pair) {
  const view = viewOf(pair);
  const beside = besideOf(pair);
  const body = pair.card.lastChild;
  pair.bands = [];
  if (beside !== null) drawTwo(pair, body, view, beside);
  else {
    const all = state.beside === "=all" ? data.views.filter((other) => other !== view && pair.m[other]) : [];
    const { size, left, narrow } = all.length
      ? { size: sizeOfWords(pair, room, 1), left: null }
      : onPaper()
        ? placeOnPaper(pair)
        : placeWords(pair);
    showLayout(pair, size.layout, left, narrow);
    body.replaceChildren(drawSentences(pair, pair.card, size, view));
    if (!state.matrices) return markFound(pair);
    const columns = Math.min(isLong(pair) ? 2 : 4, all.length + 1);
    const space = all.length ? Math.max(220, room / columns - 36) : (left ?? room);
    body.append(...[view, ...all].map((shown) => drawMatrix(pair, pair.card, space, shown)));
  }
  markFound(pair);
}

// The layout of the words, and the room that is left for a matrix beside them, if that is enough. Words that leave too
// little beside their lines stand in columns, where that leaves enough.
function placeWords(pair) {
  const beside = (size) => ({
    size,
    left: fitsBeside(pair, room - size.wide - 36) ? room - size.wide - 36 : null,
  });
  const usual = beside(sizeOfWords(pair, room));
  if (!state.matrices || usual.left !== null || usual.size.layout !== "across") return usual;
  const down = beside(sizeOfColumns(pair, room));
  return down.left === null ? usual : down;
}

// On paper two narrow cards stand side by side, wherever words and matrix fit into them.
function placeOnPaper(pair) {
  const half = (room - GAP_ON_PAPER - 34) / 2;
  const size = sizeOfWords(pair, half);
  const narrow = size.layout !== "rows" && size.wide <= half && (!state.matrices || fitsBeside(pair, half));
  const own = narrow || size.layout === "down" ? size : sizeOfWords(pair, room, 1);
  const place = narrow ? half : room;
  const beside = place - own.wide - 24;
  return { size: own, left: own.layout !== "rows" && fitsBeside(pair, beside) ? beside : place, narrow };
}

function showLayout(pair, layout, left = null, narrow = false) {
  pair.card.classList.toggle("long", isLong(pair) && left !== null && !onPaper());
  pair.card.classList.toggle("narrow", narrow);
}

// Two views side by side, their matrices, and the difference of these.
function drawTwo(pair, body, ...views) {
  const half = room > 560 ? (room - 36) / 2 : room;
  const third = (room - 80) / 3;
  const size = sizeOfWords(pair, half, 1);
  const words = (view) =>
    html(
      "figure",
      { class: "view" },
      html("figcaption", {}, `${letterOf(pair, view)}: ${nameOfPanel(view)}`, html("small", {}, tellPanel(pair, view))),
      drawSentences(pair, pair.card, size, view),
    );
  showLayout(pair, size.layout);
  body.replaceChildren(...views.map(words));
  const space = fitsBeside(pair, third) ? third : half;
  if (state.matrices) {
    body.append(
      ...[[views[0]], [views[1]], views].map((shown) => drawMatrix(pair, pair.card, space, ...shown)),
    );
  }
}

// Whether the matrix has room beside the words, with cells that can be pointed at.
function fitsBeside(pair, space) {
  if (isLong(pair)) return space > 300;
  const g = matrixSizes(pair, space);
  return g.cell >= 10 && g.left + pair.S * g.cell + 8 <= space;
}

// All words first, then all places of words, then all curves: the page is laid out once.
export function draw(...chosen) {
  chosen.forEach(drawWords);
  const boxes = chosen.flatMap((pair) =>
    [...pair.card.querySelectorAll(".sentences")].map((box) => [pair, box]),
  );
  for (const append of boxes.map(([pair, box]) => makeCurves(pair, box))) append();
  for (const pair of chosen) if (pair.pinned && !onPaper()) showPinned(pair);
}

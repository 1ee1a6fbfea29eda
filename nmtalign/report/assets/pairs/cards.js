// The card of a pair: its words and curves at full width, below them the inspector and the matrix.

import {
  cardSize, clamp, counted, data, html, languages, manyOnPaper, onPaper, percent, room, root, state,
} from "../page.js";
import { besideOf, viewOf } from "./pairs.js";
import { judge, letterOf, nameOfPanel, shortNameOf, tellPanel } from "../panels.js";
import { changesOf, goldOf, isChanged, tellReview } from "../corrections/links.js";
import { isLong, narrowColumns, rowsOf, sizeOfWords } from "./words.js";
import { makeCurves } from "./curves.js";
import { reserveRoom } from "./inspector.js";
import { showPinned } from "./light.js";
import { drawSentences } from "./sentences.js";
import { drawMatrix, lensSpace, matrixSizes, matrixWidth } from "./matrix.js";
import { toolsOf } from "../picture/actions.js";
import { TERMS, term } from "./terms.js";

// What marks the words of a card that is drawn; a notebook has no search.
let markWords = (_pair) => {};
export function markWith(mark) {
  markWords = mark;
}

const MANY_WORDS = 40; // from which a card says how many it has

function tellErrorRates(pair) {
  const others = data.others.map((_, i) => `${shortNameOf(i)} ${percent(pair.scoreOf(i))}`);
  const own = !pair.gold || pair.error === null ? null : term("AER", `AER ${percent(pair.error)}`);
  if (data.gold) return own || others.length ? [[own, own && others.length ? ", " : null, others.join(", ")]] : [];
  return [...(own ? [[own]] : []), ...others.map((other) => [`F1 with ${other}`])];
}

// What the head of a card says, in which a correction changes the errors.
function factsOf(pair) {
  if (pair.editing) return tellEdited(pair);
  const facts = [[counted(pair.links.size, "link")]];
  if (Math.max(pair.S, pair.T) >= MANY_WORDS) facts.push([`${pair.S} and ${pair.T} words`]);
  if (pair.gold) {
    const keys = new Set([...pair.links.keys(), ...pair.gold.keys()]);
    const judged = [...keys].map((key) => judge(pair, pair.links, key));
    for (const kind of ["wrong", "missed"]) {
      const count = judged.filter((one) => one === kind).length;
      if (count) facts.push([html("span", { class: `of-${kind}` }, `${count} ${kind}`)]);
    }
  }
  facts.push(...tellErrorRates(pair));
  if (pair.directions.s !== pair.directions.t) facts.push(["opposite directions: both are read from the top"]);
  const nodes = facts.flatMap((fact, n) => [n ? " · " : "", html("span", { class: "fact" }, ...fact)]);
  if (pair.reviewed) {
    nodes.push(html("span", { class: "review" }, " · ", html("span", { class: "fact" }, `✓ ${tellReview(pair)}`)));
  }
  if (pair.told) {
    const told = isChanged(pair) ? `${pair.told}, as reported` : pair.told;
    const about = { class: "first", title: "This pair is shown first." };
    nodes.push(html("span", about, " · ", html("span", { class: "fact" }, told)));
  }
  return nodes;
}

// Whose links an editor shows, and how many are the reader's.
function tellEdited(pair) {
  const changes = changesOf(pair).length;
  const whose = counted(goldOf(pair).size, pair.gold ? "gold link" : "link");
  return [html("span", { class: "fact" }, whose), ...(changes ? [" · ", html("strong", {}, `${changes} yours`)] : [])];
}

function tellFacts(pair) {
  pair.card.querySelector(".facts").replaceChildren(...factsOf(pair));
}

function titleOf(pair) {
  const named = root.dataset.kind === "cards" ? data.names.join(" → ") : languages();
  const sides = html("span", { class: "languages" }, root.dataset.kind === "cards" ? named : ` · ${named}`);
  const number = html("a", { href: `#pair-${pair.n}` }, `Pair ${pair.n}`);
  const title = root.dataset.kind === "cards" ? [sides] : [number, named ? sides : null];
  const score = pair.p === null ? null : `Pair score ${pair.p.toFixed(2)}. ${TERMS.score}`;
  return html("h3", { id: `head-${pair.n}`, title: score }, ...title);
}

export function makeCard(pair) {
  const title = titleOf(pair);
  const facts = html("p", { class: "facts" }, ...factsOf(pair));
  const head = html("header", {}, title, facts, toolsOf(pair, () => draw(pair)));
  const about = { class: "pair", id: `pair-${pair.n}`, "aria-labelledby": title.id };
  return html("article", about, head, html("div", { class: "body" }));
}

const GAP_ON_PAPER = 8; // as in the style sheet
const GAP_BESIDE = 24; // before a small matrix, as in the style sheet
const SMALL_MATRIX = 100; // pixels
const INSPECTOR_HEIGHT = 330; // of most cards
const MATRIX_HEIGHT = 300; // of one with few words
const gapOfColumns = () => (cardSize === "wide" ? 48 : 24); // between inspector and matrix

// How high a card may be, before it is drawn.
export function guessHeight(pair) {
  const { layout } = sizeOfWords(pair, room);
  const letters = Math.max(...[pair.s, pair.t].map((words) => words.join("  ").length * 8));
  const words =
    layout === "across" ? 250 : layout === "rows" ? 112 * Math.ceil(letters / room) : Math.max(pair.S, pair.T) * 32;
  const { cell, beside, lens } = placeMatrix(pair);
  const matrix = !state.matrices ? 0 : lens ? 420 : 80 + pair.T * cell;
  return 120 + words + (beside ? Math.max(INSPECTOR_HEIGHT, matrix) : INSPECTOR_HEIGHT + matrix);
}

function drawWords(pair) {
  const view = viewOf(pair);
  const beside = besideOf(pair);
  const body = pair.card.lastChild;
  pair.cursors = [];
  tellFacts(pair);
  pair.card.classList.remove("narrow", "opposite", "many");
  pair.card.classList.toggle("editing", pair.editing);
  if (onPaper()) drawOnPaper(pair, body, view);
  else if (beside !== null) drawTwo(pair, body, view, beside);
  else drawOne(pair, body, view);
  markWords(pair);
}

const inspector = () => html("div", { class: "why" });

function drawOne(pair, body, view) {
  const showsAll = state.beside === "=all" && !pair.editing;
  const all = showsAll ? data.views.filter((other) => other !== view && pair.m[other]) : [];
  const sentences = drawSentences(pair, pair.card, sizeOfWords(pair, room), view);
  const low = html("div", { class: "low" }, inspector());
  body.replaceChildren(sentences, low);
  if (!state.matrices) return;
  if (all.length) return drawMany(pair, body, [[view], ...all.map((other) => [other])]);
  const place = placeMatrix(pair);
  const besideColumns = sentences.classList.contains("down") ? placeBesideColumns(pair, place) : null;
  if (besideColumns) return drawBesideColumns(pair, body, sentences, low, besideColumns, view);
  low.classList.toggle("stacked", !place.beside);
  low.append(drawMatrix(pair, pair.card, place, view));
}

const ROW_OF_COLUMN = { wide: 36, medium: 32 }; // pixels of a word in a column, as in the style sheet

// Words in columns have the matrix beside them, if there is room for it; where all of it is seen, the target words are
// also its rows.
function placeBesideColumns(pair, place) {
  if (cardSize === "wide" && place.lens && place.beside) return place;
  if (cardSize === "narrow" || place.lens) return null;
  const space = room - narrowColumns(pair, room) - GAP_BESIDE;
  const rows = pair.T <= 25 ? [{ cell: ROW_OF_COLUMN[cardSize], bare: true }] : [];
  const chosen = [...rows, { cell: 22 }, { cell: 18 }].find(
    (one) => matrixWidth(pair, matrixSizes(pair, one)) <= space,
  );
  return chosen ? { ...chosen, space } : null;
}

function drawBesideColumns(pair, body, sentences, low, place, view) {
  const matrix = drawMatrix(pair, pair.card, place, view);
  if (place.bare) sentences.style.paddingTop = `${matrixSizes(pair, place).top}px`;
  body.replaceChildren(html("div", { class: "columns-and-matrix" }, sentences, matrix), low);
}

// Matrices of several views below the inspector, each as wide as its part of the card.
function drawMany(pair, body, views) {
  const columns = clamp(Math.floor(room / 300), 1, isLong(pair) ? 2 : views.length);
  const space = room / columns - 24;
  const fits = (cell) => matrixWidth(pair, matrixSizes(pair, { cell })) <= space;
  const cell = [22, 18].find(fits);
  const lens = lensSpace(pair);
  const place = cell ? { cell, space } : { ...lens, space: Math.min(space, lens.space) };
  pair.card.classList.add("many");
  body.append(
    html("div", { class: "matrices" }, ...views.map((shown) => drawMatrix(pair, pair.card, place, ...shown))),
  );
}

// Cells of 22 pixels, or larger ones of few words, where they fit into half of the card; else of 18; else below the
// inspector; else a part of the matrix with an overview.
function placeMatrix(pair) {
  const half = (room - gapOfColumns()) / 2;
  const widthOf = (cell) => matrixWidth(pair, matrixSizes(pair, { cell }));
  const longest = Math.max(pair.S, pair.T, 1);
  const large = clamp(Math.floor(MATRIX_HEIGHT / longest), 22, 36);
  const cells = cardSize === "wide" ? [large, 22, 18] : [18];
  const beside = cardSize === "narrow" || longest > 60 ? undefined : cells.find((cell) => widthOf(cell) <= half);
  if (beside) return { cell: beside, space: half, beside: true, lens: false };
  if (widthOf(18) <= room && longest <= 60) return { cell: 18, space: room, beside: false, lens: false };
  const lens = lensSpace(pair);
  const all = lens.space + lens.overview + 24;
  const isBeside = cardSize === "wide" && all + gapOfColumns() + 320 <= room;
  return { ...lens, space: Math.min(room, lens.space), beside: isBeside };
}

// On paper two narrow cards stand side by side, wherever words and matrix fit into them. Longer pairs are rows of
// words: of few pairs with the matrix below them, of many with a small one beside them.
function drawOnPaper(pair, body, view) {
  const half = (room - GAP_ON_PAPER - 34) / 2;
  const many = manyOnPaper();
  const small = clamp(Math.floor(SMALL_MATRIX / Math.max(pair.S, pair.T, 1)), 2, 5);
  const beside = many && state.matrices ? matrixWidth(pair, matrixSizes(pair, { cell: small })) + GAP_BESIDE : 0;
  const size = sizeOfWords(pair, half - beside);
  const fits = many || !state.matrices || fitsOnPaper(pair, half);
  const rows = size.layout === "rows" ? rowsOf(pair, half - beside).length - 1 : 1;
  const narrow = fits && rows <= 2 && size.wide <= half - beside;
  const space = narrow ? half : room;
  const own = narrow ? size : sizeOfWords(pair, space - beside);
  pair.card.classList.toggle("narrow", narrow);
  body.replaceChildren(drawSentences(pair, pair.card, own, view));
  if (!state.matrices) return;
  body.append(drawMatrix(pair, pair.card, { cell: many ? small : cellOnPaper(pair, space), space }, view));
}

function cellOnPaper(pair, space) {
  const labels = matrixSizes(pair, { cell: 12 }).left;
  return clamp(Math.floor((space - labels - 8) / Math.max(pair.S, pair.T, 1)), 4, 12);
}

function fitsOnPaper(pair, space) {
  const cell = cellOnPaper(pair, space);
  return cell >= 10 && matrixWidth(pair, matrixSizes(pair, { cell })) <= space;
}

// Two views side by side, their matrices, and the difference of these.
function drawTwo(pair, body, ...views) {
  const half = room > 560 ? (room - 36) / 2 : room;
  const size = sizeOfWords(pair, half);
  const words = (view) =>
    html(
      "figure",
      { class: "view" },
      html("figcaption", {}, `${letterOf(pair, view)}: ${nameOfPanel(view)}`, html("small", {}, tellPanel(pair, view))),
      drawSentences(pair, pair.card, size, view),
    );
  body.replaceChildren(
    html("div", { class: "views" }, ...views.map(words)),
    html("div", { class: "low" }, inspector()),
  );
  if (state.matrices) drawMany(pair, body, [[views[0]], [views[1]], views]);
}

// All words first, then all places of words, then all curves: the page is laid out once.
export function draw(...chosen) {
  chosen.forEach(drawWords);
  const boxes = chosen.flatMap((pair) =>
    [...pair.card.querySelectorAll(".sentences")].map((box) => [pair, box]),
  );
  for (const append of boxes.map(([pair, box]) => makeCurves(pair, box))) append();
  if (onPaper()) return;
  reserveRoom(chosen);
  for (const pair of chosen) showPinned(pair);
}

// The matrix of a pair: cells are violet, the likelier the more opaque, so that 0 has the color of the card. Columns of
// a right-to-left sentence run from right to left, as its words do. A matrix that is larger than its place is moved
// under its words, which stay in sight, and has an overview beside it.

import { byId, clamp, data, html, isolate, onPaper, share, shortenWord, state, svg, width } from "../page.js";
import { besideOf, extentOf, isShare, linksOf, positions, shownWeights, toldView, weightsOf } from "./pairs.js";
import { ownLinks } from "../panels.js";
import { acts, changesOf, goldOf, isRemoved, isYours } from "../corrections/links.js";
import { nameOfDiamonds } from "./key.js";
import { reversedRun } from "./notes.js";
import { withTerm } from "./terms.js";
import { plainSentence } from "./inspector.js";
import { lightCell, pin, unlight } from "./light.js";

const BOLD = 1.12; // labels are bold, and so wider, while they are pointed at
const MAX_LABEL = 16; // characters; longer ones keep both ends
const LEVELS = 31; // of opacity above 0
const EDGE = 4; // pixels beside the last cells
const LENS_CELL = 20;
const LENS_CELLS = 13; // of a matrix that is seen in parts, in a row
const MAX_OVERVIEW = 230; // pixels

// Where cells and labels are, for cells of a size; labels are omitted where cells are too small for them, and those of
// rows where the matrix is bare, as the words stand beside it.
export function matrixSizes(pair, { cell, bare = false }) {
  const size = onPaper() ? (cell < 6 ? 0 : clamp(cell * 0.8, 6, 12)) : cell < 18 ? 0 : cell < 22 ? 11 : 12;
  if (!size) return { cell, size, left: 3, top: 3 };
  const longest = (words) =>
    Math.min(130, Math.max(12, ...words.map((word) => BOLD * width(shortenWord(word, MAX_LABEL), size)))) + 8;
  return { cell, size, left: bare ? 3 : longest(pair.t), top: longest(pair.s) };
}

export const matrixWidth = (pair, g) => g.left + pair.S * g.cell + EDGE;

// What a matrix shows: the weights of a view, or the difference of two; level() is from -1 to 1, and 0 is not drawn.
function weightsToDraw(pair, view, minus) {
  const [low, high] = extentOf(view);
  const range = isShare(view) ? [0, 1] : [low, high];
  if (minus === null) {
    const level = (x) => (range[1] > range[0] ? toScale(clamp((x - range[0]) / (range[1] - range[0]), 0, 1)) : 1);
    return { w: shownWeights(pair, view), range, title: toldView(view), level };
  }
  const w = weightsOf(pair, view);
  const other = weightsOf(pair, minus);
  const [least, largest] = extentOf(minus);
  const most = Math.max(high - least, largest - low, 1e-6); // the same for all pairs
  return {
    w: w.map((x, i) => x - other[i]),
    range: [-most, most],
    title: `${toldView(view)} less ${toldView(minus)}`,
    level: (x) => Math.sign(x) * toScale(Math.min(1, Math.abs(x) / most)),
  };
}

// A square root shows small weights; linear opacity is that of `draw_heatmap(linear=True)`.
const toScale = (x) => (state.linear ? x : Math.sqrt(x));

function drawCells(pair, { w, level }, place, cell) {
  const inset = cell >= 14 ? 1 : 0;
  const round = cell >= 14 ? 3 : 0;
  const side = cell - 2 * inset;
  const straight = side - 2 * round;
  const corner = (x, y) => (round ? `a3 3 0 0 1 ${x} ${y}` : "");
  const cells = new Map();
  for (let t = 0; t < pair.T; t++) {
    for (let s = 0; s < pair.S; s++) {
      const n = Math.round(LEVELS * level(w[t * pair.S + s]));
      if (!n) continue;
      const [x, y] = place(s, t);
      const path =
        `M${x + inset + round} ${y + inset}h${straight}${corner(3, 3)}v${straight}${corner(-3, 3)}` +
        `h${-straight}${corner(-3, -3)}v${-straight}${corner(3, -3)}z`;
      cells.set(n, (cells.get(n) ?? "") + path);
    }
  }
  return [...cells].map(([n, d]) =>
    svg("path", {
      class: n < 0 ? "weight less" : "weight",
      d,
      "fill-opacity": (Math.abs(n) / LEVELS).toFixed(3),
      "shape-rendering": round ? null : "crispEdges",
    }),
  );
}

function drawGrid(pair, place, cell) {
  const [x, y] = place(pair.directions.s === "rtl" ? pair.S - 1 : 0, 0);
  const [wide, high] = [pair.S * cell, pair.T * cell];
  const lines = [`M${x} ${y}h${wide}v${high}h${-wide}z`];
  for (let s = 1; s < pair.S && cell >= 14; s++) lines.push(`M${x + s * cell} ${y}v${high}`);
  for (let t = 1; t < pair.T && cell >= 14; t++) lines.push(`M${x} ${y + t * cell}h${wide}`);
  return svg("path", { class: "grid", d: lines.join("") });
}

// place: { cell, space, lens } as placeMatrix() in cards.js gives it.
export function drawMatrix(pair, card, { cell, space, lens = false, bare = false }, view, minus = null) {
  const { S, T } = pair;
  const weights = weightsToDraw(pair, view, minus);
  const { title } = weights;
  const g = matrixSizes(pair, { cell, bare });
  const column = (s) => (pair.directions.s === "rtl" ? S - 1 - s : s);
  const place = (s, t) => [g.left + column(s) * cell, g.top + t * cell];
  const shape = `${T} target words as rows, ${S} source words as columns`;
  const picture = svg("svg", {
    width: matrixWidth(pair, g),
    height: g.top + T * cell + EDGE,
    tabindex: 0,
    role: "application",
    "aria-roledescription": "matrix",
    "aria-label":
      `Matrix of pair ${pair.n}, ${title}: ${shape}. ` + "Arrow keys move from cell to cell.",
  });
  const bands = svg("g", { class: "cursors" });
  const cursor = svg("g", { class: "cursors" });
  picture.append(bands, drawGrid(pair, place, cell), ...drawCells(pair, weights, place, cell));
  const [source, target] = pair.u ?? [[], []]; // without a vector: their weights say nothing
  const band = (x, y, wide, high) =>
    picture.append(svg("rect", { class: "lacking", x, y, width: wide * cell, height: high * cell }));
  for (const s of source) band(...place(s, 0), 1, T);
  for (const t of target) band(g.left, g.top + t * cell, S, 1);
  drawMarks(picture, place, cell, marksOf(pair, view, minus));
  if (minus === null) noteCrossing(pair, picture, place, cell);
  picture.append(cursor);
  const pan = html("div", { class: "pan" }, picture);
  if (lens) {
    Object.assign(pan.style, { maxWidth: `${space}px`, maxHeight: `${g.top + LENS_CELLS * cell + EDGE}px` });
    followDrag(pan);
  }
  if (g.size) keepInSight(pan, drawLabels(pair, picture, place, g));
  followCells(pair, card, picture, bands, cursor, place, column, g);
  const part = lens ? html("div", { class: "parts" }, drawOverview(pair, weights, pan, g, column), pan) : pan;
  const figure = html("figure", { class: "matrix", "data-view": view }, part, captionOf(pair, view, minus, weights));
  if (pair.directions.s === "rtl") {
    figure.append(html("p", { class: "caption" }, "← columns run from right to left, as their sentence does"));
    requestAnimationFrame(() => pan.scrollTo(pan.scrollWidth, 0));
  }
  return figure;
}

// ---- the key below the matrix ----------------------------------------------------------------------------

function captionOf(pair, view, minus, { range, title }) {
  const usual = minus === null && view === "combined" && data.usual === "combined";
  const named = data.caption ? `${title}, score: ${data.caption}` : title;
  const parts = usual && !data.caption ? [] : [html("span", { class: "scales" }, withTerm(named))];
  parts.push(scaleOf(range, minus !== null));
  const marks = marksOf(pair, view, minus);
  const links = marks.dots ?? new Map();
  const [missed, wrong] = errorsOfMarks(marks);
  const entry = (text, chosen) => parts.push(html("span", {}, markSample(chosen), text));
  const one = new Map([["0-0", 1]]);
  if (links.size) entry("linked", { dots: one });
  if (missed.length) entry("missed", { gold: one });
  if (wrong.length) entry("wrong", { gold: new Map(), dots: one });
  if ([...(marks.gold ?? [])].some(([key, sure]) => !sure && !links.has(key))) {
    entry("possible", { gold: new Map([["0-0", 0]]) });
  }
  if (marks.yours?.size) entry("yours", { yours: one.keys() });
  if (marks.removed?.size) entry("removed", { removed: one.keys() });
  if (marks.diamonds?.size) entry(nameOfDiamonds(pair) ?? toldView(minus), { diamonds: one });
  if (pair.u?.some((side) => side.length)) {
    const gray = svg("svg", { width: 14, height: 14, "aria-hidden": "true" },
      svg("rect", { class: "lacking", width: 14, height: 14, rx: 3 }));
    parts.push(html("span", {}, gray, "no vector"));
  }
  return html("figcaption", {}, ...parts);
}

const markSample = (marks) => {
  const picture = svg(
    "svg",
    { width: 14, height: 14, "aria-hidden": "true" },
    svg("rect", { class: "weight", width: 14, height: 14, rx: 3, "fill-opacity": marks.dots ? 1 : 0.3 }),
  );
  drawMarks(picture, () => [0, 0], 14, { gold: null, diamonds: null, dots: null, ...marks });
  return picture;
};

// A scale from the least to the largest weight; of a difference from orange over nothing to violet.
function scaleOf([low, high], isDifference) {
  const STEPS = 7;
  const bar = svg("svg", { class: "scale", width: 12 * STEPS, height: 12, "aria-hidden": "true" });
  for (let i = 0; i < STEPS; i++) {
    const x = isDifference ? (2 * i) / (STEPS - 1) - 1 : i / (STEPS - 1);
    const opacity = isDifference ? Math.abs(x) : toScale(x);
    const kind = x < 0 ? "weight less" : "weight";
    bar.append(svg("rect", { class: kind, x: 12 * i, width: 12, height: 12, "fill-opacity": opacity.toFixed(3) }));
  }
  bar.append(svg("rect", { class: "frame", x: 0.5, y: 0.5, width: 12 * STEPS - 1, height: 11 }));
  const ends = low === 0 && high === 1 ? ["0", "100\u00a0%"] : [share(low), share(high)];
  return html("span", { class: "scales" }, ends[0], " ", bar, " ", ends[1]);
}

// ---- an overview of a matrix that is seen in parts -------------------------------------------------------

function drawOverview(pair, weights, pan, g, column) {
  const { S, T } = pair;
  const dot = Math.min(2, MAX_OVERVIEW / Math.max(S, T));
  const picture = svg("svg", { class: "overview", width: S * dot, height: T * dot, "aria-hidden": "true" });
  const place = (s, t) => [column(s) * dot, t * dot];
  const frame = svg("rect", { class: "lens" });
  const ground = svg("rect", { class: "frame", width: S * dot, height: T * dot });
  picture.append(ground, ...drawCells(pair, weights, place, dot), frame);
  const follow = () => {
    const [x, y] = [pan.scrollLeft, pan.scrollTop].map((at) => (at / g.cell) * dot);
    const seen = [(pan.clientWidth - g.left) / g.cell, (pan.clientHeight - g.top) / g.cell];
    const [wide, high] = [Math.min(S, seen[0]) * dot, Math.min(T, seen[1]) * dot];
    for (const [name, value] of Object.entries({ x, y, width: Math.max(4, wide), height: Math.max(4, high) })) {
      frame.setAttribute(name, value.toFixed(1));
    }
  };
  pan.addEventListener("scroll", follow);
  requestAnimationFrame(follow);
  const go = (event) => {
    if (event.buttons !== 1) return;
    const box = picture.getBoundingClientRect();
    const [s, t] = [(event.clientX - box.x) / dot, (event.clientY - box.y) / dot];
    pan.scrollTo(s * g.cell - (pan.clientWidth - g.left) / 2, t * g.cell - (pan.clientHeight - g.top) / 2);
  };
  picture.addEventListener("pointerdown", go);
  picture.addEventListener("pointermove", go);
  return html("div", {}, picture, html("p", { class: "caption" }, `all ${S} × ${T} words`));
}

export const lensSpace = (pair) => {
  const g = matrixSizes(pair, { cell: LENS_CELL });
  const overview = Math.min(2, MAX_OVERVIEW / Math.max(pair.S, pair.T)) * pair.S;
  return { cell: LENS_CELL, lens: true, space: g.left + LENS_CELLS * LENS_CELL + EDGE, overview };
};

// The words above stay above, and those on the left stay on the left, when the matrix is moved under them; the other
// matrices of the pair move with it.
function keepInSight(pan, { above, left, corner }) {
  pan.addEventListener("scroll", () => {
    const { scrollLeft: x, scrollTop: y } = pan;
    above.setAttribute("transform", `translate(0 ${y})`);
    left.setAttribute("transform", `translate(${x} 0)`);
    corner.setAttribute("transform", `translate(${x} ${y})`);
    for (const other of pan.closest(".pair")?.querySelectorAll(".pan") ?? []) other.scrollTo(x, y);
  });
}

// A mouse drags the matrix; fingers move it as they move the page.
function followDrag(pan) {
  let held = null;
  pan.classList.add("movable");
  pan.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || !event.target.closest("svg")) return;
    held = [pan.scrollLeft + event.clientX, pan.scrollTop + event.clientY];
  });
  pan.addEventListener("pointermove", (event) => {
    if (!held || event.buttons !== 1) return (held = null);
    const [x, y] = [held[0] - event.clientX, held[1] - event.clientY];
    const near = Math.hypot(x - pan.scrollLeft, y - pan.scrollTop) < 5;
    if (near && !pan.hasPointerCapture(event.pointerId)) return;
    pan.setPointerCapture(event.pointerId); // the click at the end is then one on no cell
    pan.scrollTo(x, y);
  });
}

function drawLabels(pair, picture, place, g) {
  const strip = (width, height, lang = null) => {
    const group = svg("g", { lang }, svg("rect", { class: "strip", width, height }));
    picture.append(group);
    return group;
  };
  const left = strip(g.left, g.top + pair.T * g.cell + EDGE, data.languages[1]);
  const above = strip(matrixWidth(pair, g), g.top, data.languages[0]);
  const label = (side, at, word, where) =>
    svg(
      "text",
      { "data-side": side, "data-at": at, "font-size": g.size, "dominant-baseline": "central", ...where },
      isolate(shortenWord(word, MAX_LABEL), pair.directions[side]),
    );
  pair.s.forEach((word, s) => {
    const [x] = place(s, 0);
    above.append(label("s", s, word, { transform: `translate(${x + g.cell / 2} ${g.top - 5}) rotate(-90)` }));
  });
  const rows = g.left > 3 ? pair.t : []; // a bare matrix has its words beside it
  rows.forEach((word, t) =>
    left.append(label("t", t, word, { x: g.left - 5, y: g.top + (t + 0.5) * g.cell, "text-anchor": "end" })),
  );
  return { above, left, corner: strip(g.left, g.top) };
}

// ---- marks -----------------------------------------------------------------------------------------------

// Dots are the links of a panel; diamonds are those of the other panel in the difference of two, else those of the
// system that is compared with. The gold is compared with the dots.
function marksOf(pair, view, minus) {
  const others = besideOf(pair) === null ? pair.others[state.compare] : null;
  if (pair.editing) {
    const changed = changesOf(pair).map(({ key }) => key);
    const [yours, removed] = [isYours, isRemoved].map((is) => new Set(changed.filter((key) => is(pair, key))));
    const ofOthers = (links) => new Map([...links].filter(([key]) => !yours.has(key) && !removed.has(key)));
    return { gold: ofOthers(goldOf(pair)), diamonds: null, dots: ofOthers(pair.links), yours, removed };
  }
  return {
    gold: minus === null && state.compare !== "none" ? pair.gold : null,
    diamonds: minus === null ? others : linksOf(pair, minus),
    dots: ownLinks(pair, view),
  };
}

// Sure links that are missing, and links that the gold does not have.
function errorsOfMarks({ gold, dots }) {
  if (!gold) return [[], []];
  const missed = [...gold].filter(([key, sure]) => sure && !dots?.has(key)).map(([key]) => key);
  return [missed, [...(dots?.keys() ?? [])].filter((key) => !gold.has(key))];
}

function drawMarks(picture, place, cell, marks) {
  const { gold, diamonds, dots, yours = new Set(), removed = new Set() } = marks;
  const [missed, wrong] = errorsOfMarks(marks);
  const corner = (key) => place(...positions(key));
  const middle = (key) => corner(key).map((at) => at + cell / 2);
  const arm = Math.max(1.5, cell * 0.16);
  const box = (key, kind) => {
    const [x, y] = corner(key);
    const gap = Math.min(1, cell / 8) + 0.5;
    const size = { width: cell - 2 * gap, height: cell - 2 * gap };
    picture.append(svg("rect", { class: `box ${kind}`, x: x + gap, y: y + gap, rx: cell >= 14 ? 3 : 0, ...size }));
  };
  const sign = (key, kind, d) => {
    const [x, y] = middle(key);
    for (const under of ["under ", ""]) {
      picture.append(svg("path", { class: `sign ${under}${kind}`, d: `M${x} ${y}${d}` }));
    }
  };
  const plus = `m${-arm} 0h${2 * arm}m${-arm} ${-arm}v${2 * arm}`;
  const cross = `m${-arm} ${-arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
  for (const [key, sure] of gold ?? []) if (!sure && !dots?.has(key)) box(key, "possible");
  for (const key of missed) {
    box(key, "missed");
    sign(key, "missed", plus);
  }
  for (const key of wrong) {
    box(key, "wrong");
    sign(key, "wrong", cross);
  }
  for (const key of diamonds?.keys() ?? []) {
    const [x, y] = middle(key);
    const r = cell * 0.4;
    for (const under of [" under", ""]) {
      picture.append(svg("path", { class: `diamond${under}`, d: `M${x} ${y - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z` }));
    }
  }
  const isWrong = new Set(wrong);
  for (const key of dots?.keys() ?? []) {
    const [cx, cy] = middle(key);
    const kind = isWrong.has(key) ? "dot hidden" : cell < 9 ? "dot small" : "dot";
    picture.append(svg("circle", { class: kind, cx, cy, r: Math.max(1, cell * 0.14) }));
  }
  for (const [keys, shape] of [[yours, plus], [removed, cross]]) {
    for (const key of keys) {
      box(key, "yours");
      sign(key, "yours", shape);
    }
  }
}

// A bracket beside the cells of words whose order is reversed, where its place is empty.
function noteCrossing(pair, picture, place, cell) {
  const run = reversedRun(pair);
  if (!run || cell < 18 || onPaper() || pair.directions.s === "rtl") return;
  const targets = run.map((s) => [...pair.links.keys()].map(positions).find((link) => link[0] === s)[1]);
  const [first, last] = [Math.min(...targets), Math.max(...targets)];
  const columns = Math.ceil((width("the crossing", 11) + 18) / cell);
  const from = run[1] + 1;
  if (from + columns > pair.S || last === first) return;
  const w = weightsOf(pair, "combined");
  const keys = [...pair.links.keys(), ...(pair.gold?.keys() ?? [])].map(positions);
  for (let t = first; t <= last; t++) {
    for (let s = from; s < from + columns; s++) {
      if (w[t * pair.S + s] > 0.01 || keys.some(([a, b]) => a === s && b === t)) return;
    }
  }
  const [x, y] = place(from, first);
  const high = (last - first + 1) * cell;
  picture.append(
    svg("path", { class: "bracket", d: `M${x + 4} ${y + 3}h5v${high - 6}h-5` }),
    svg("text", { class: "note small", x: x + 15, y: y + high / 2, "dominant-baseline": "central" }, "the crossing"),
  );
}

// ---- pointing and keys -----------------------------------------------------------------------------------

function followCells(pair, card, picture, bands, cursor, place, column, g) {
  let now = pair.cursor ?? null;
  const band = (side, at) => {
    const [x, y] = side === "s" ? place(at, 0) : place(0, at);
    const row = side === "t";
    return svg(
      "rect",
      row
        ? { class: "band", x: 0, y, width: matrixWidth(pair, g), height: g.cell, rx: 3 }
        : { class: "band", x, y: 0, width: g.cell, height: g.top + pair.T * g.cell, rx: 3 },
    );
  };
  // moves the matrix until a cell is in sight; one of them alone may be given
  const reveal = (s, t) => {
    const pan = picture.parentElement;
    const [x, y] = place(s ?? 0, t ?? 0);
    const off = (at, from, to) => (at < from ? at - from : Math.max(0, at + g.cell - to));
    const near = (at, size) => (at ? at + Math.sign(at) * Math.min(size / 3, 5 * g.cell) : 0);
    const over = s === null ? 0 : off(x, pan.scrollLeft + g.left, pan.scrollLeft + pan.clientWidth);
    const down = t === null ? 0 : off(y, pan.scrollTop + g.top, pan.scrollTop + pan.clientHeight);
    if (over || down) pan.scrollBy(near(over, pan.clientWidth), near(down, pan.clientHeight));
  };
  pair.cursors.push({
    word(side, at) {
      bands.replaceChildren(band(side, at));
      cursor.replaceChildren();
      const link = [...pair.links.keys()].map(positions).find((one) => one[side === "s" ? 0 : 1] === at);
      reveal(...(link ?? (side === "s" ? [at, null] : [null, at])));
    },
    cell(s, t) {
      const [x, y] = place(s, t);
      bands.replaceChildren(band("t", t), band("s", s));
      cursor.replaceChildren(svg("rect", { class: "cursor", x, y, width: g.cell, height: g.cell, rx: 4 }));
      reveal(s, t);
    },
  });
  const show = (s, t, spoken) => {
    now = pair.cursor = [s, t];
    const { headline, say } = lightCell(pair, card, s, t);
    if (spoken) byId("live").textContent = `${headline}. ${plainSentence(say)}`;
  };
  const leave = () => unlight(card);
  const point = (event) => {
    const frame = picture.getBoundingClientRect();
    const seen = picture.parentElement.getBoundingClientRect();
    if (event.clientX < seen.left + g.left || event.clientY < seen.top + g.top) return leave(); // on words
    const s = column(Math.floor((event.clientX - frame.x - g.left) / g.cell));
    const t = Math.floor((event.clientY - frame.y - g.top) / g.cell);
    if (s < 0 || t < 0 || s >= pair.S || t >= pair.T) return leave();
    if (!now || now[0] !== s || now[1] !== t || !picture.querySelector(".cursor")) show(s, t, false);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("click", (event) => {
    point(event);
    if (!picture.querySelector(".cursor")) return pin(pair, null);
    if (!acts.chooseCell?.(pair, ...now, null, picture)) pin(pair, { s: now[0], t: now[1] });
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("focus", () => {
    if (pair.S && pair.T && picture.matches(":focus-visible")) show(...(now ?? [0, 0]), true);
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") {
      pair.pinned = null;
      leave();
    }
    if (now && acts.chooseCell?.(pair, ...now, event.key, picture)) return event.preventDefault();
    if (now && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      pin(pair, { s: now[0], t: now[1] });
      return show(...now, false);
    }
    if (!step || !pair.S || !pair.T) return;
    event.preventDefault();
    const [s, t] = now ?? [0, 0];
    const way = pair.directions.s === "rtl" ? -1 : 1;
    show(clamp(s + way * step[0], 0, pair.S - 1), clamp(t + step[1], 0, pair.T - 1), true);
  });
}

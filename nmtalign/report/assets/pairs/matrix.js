// The matrix of a pair. Columns of a right-to-left sentence run from right to left, as its words do. A matrix that is
// larger than its place is moved under its words, which stay in sight, and has buttons for the size of its cells.

import {
  barHeight,
  byId,
  clamp,
  colors,
  data,
  html,
  isolate,
  onPaper,
  share,
  shorten,
  state,
  svg,
  width,
} from "../page.js";
import { scrollTip, showTip, tip } from "../tooltip.js";
import { besideOf, extentOf, linksOf, positions, toldView, viewOf, weightsOf } from "./pairs.js";
import { ownLinks } from "../panels.js";
import { chooseCell, goldOf } from "../corrections/corrections.js";
import { isLong } from "./words.js";
import { clearAttention } from "./attention.js";
import { explainCell } from "./reasons.js";
import { light, unlight } from "./light.js";

const BOLD = 1.12; // labels are bold, and so wider, while they are pointed at

export function matrixSizes(pair, space) {
  const wide = Math.max(pair.S, pair.T, 1);
  const longest = (words, size) =>
    Math.min(130, Math.max(12, ...words.map((word) => BOLD * width(shorten(word, 18), size)))) + 8;
  const [least, most, smallest] = onPaper() ? [4, 12, 6] : [9, 27, 9]; // pixels of cells and of letters
  const left = Math.min(space, onPaper() ? space : 560) - longest(pair.t, onPaper() ? 9 : 14) - 8;
  const fitting = clamp(Math.floor(left / wide), least, most);
  const cell = onPaper() ? fitting : (pair.cell ?? (isLong(pair) ? 15 : fitting));
  const size = cell < smallest ? 0 : clamp(cell * 0.8, smallest, 14);
  if (!size) return { cell, size, left: 3, top: 3 };
  return { cell, size, left: longest(pair.t, size), top: longest(pair.s, size) };
}

// What a matrix shows: the weights of a view, or the difference of two, whose colors are the same at both ends of 0.
function weightsToDraw(pair, view, minus) {
  const w = weightsOf(pair, view);
  const [low, high] = extentOf(view);
  const last = colors().length - 1;
  if (minus === null) {
    return {
      w,
      low,
      high,
      ramp: colors(),
      title: toldView(view),
      level: (x) => (high > low ? Math.round(toScale(clamp((x - low) / (high - low), 0, 1)) * last) : last),
    };
  }
  const other = weightsOf(pair, minus);
  const difference = w.map((x, i) => x - other[i]);
  const [least, largest] = extentOf(minus);
  const most = Math.max(high - least, largest - low, 1e-6); // the same for all pairs
  const level = (x) => Math.round((0.5 + (Math.sign(x) * toScale(Math.abs(x) / most)) / 2) * last);
  return {
    w: difference,
    low: -most,
    high: most,
    ramp: data.differences,
    title: `${toldView(view)} less ${toldView(minus)}`,
    level,
  };
}

export function drawMatrix(pair, card, space, view, minus = null) {
  const { S, T } = pair;
  const { w, low, high, ramp, title, level } = weightsToDraw(pair, view, minus);
  const g = matrixSizes(pair, space);
  const ground = minus === null ? 0 : level(0);
  const column = (s) => (pair.directions.s === "rtl" ? S - 1 - s : s);
  const place = (s, t) => [g.left + column(s) * g.cell, g.top + t * g.cell];
  const shape = `${T} target words as rows, ${S} source words as columns`;
  const picture = svg("svg", {
    width: g.left + S * g.cell + 8,
    height: g.top + T * g.cell + 8,
    tabindex: 0,
    role: "application",
    "aria-roledescription": "matrix",
    "aria-label":
      `Matrix of pair ${pair.n}, ${title}: ${shape}. ` + "Arrow keys move from cell to cell.",
  });
  picture.append(
    svg("rect", {
      class: "ground",
      ...{ x: g.left, y: g.top, width: S * g.cell, height: T * g.cell },
      fill: ramp[ground],
    }),
  );
  const levels = new Map();
  for (let t = 0; t < T; t++) {
    for (let s = 0; s < S; s++) {
      const n = level(w[t * S + s]);
      const [x, y] = place(s, t);
      if (n !== ground) levels.set(n, `${levels.get(n) ?? ""}M${x} ${y}h${g.cell}v${g.cell}h${-g.cell}z`);
    }
  }
  for (const [n, d] of levels) {
    picture.append(svg("path", { d, fill: ramp[n], "shape-rendering": "crispEdges" }));
  }
  const [source, target] = pair.u ?? [[], []]; // without a vector: their weights say nothing
  const band = (x, y, wide, high) =>
    picture.append(svg("rect", { class: "lacking", x, y, width: wide * g.cell, height: high * g.cell }));
  for (const s of source) band(...place(s, 0), 1, T);
  for (const t of target) band(g.left, place(0, t)[1], S, 1);
  drawMarks(picture, place, g.cell, marksOf(pair, view, minus));
  const cursor = svg("g", { class: "cursors" });
  picture.append(cursor);
  const pan = html("div", { class: "pan" }, picture);
  const most = clamp(window.innerHeight - barHeight() - 110, 240, 1.2 * space);
  const scrolls = !onPaper() && (g.left + S * g.cell + 8 > space || g.top + T * g.cell + 8 > most);
  if (scrolls) {
    Object.assign(pan.style, { maxWidth: `${space}px`, maxHeight: `${most}px` });
    followDrag(pan);
  }
  if (g.size) keepInSight(pan, drawLabels(pair, picture, place, g));
  followCells(pair, card, picture, cursor, place, column, g);
  const figure = html("figure", { class: "matrix", "data-view": view }, pan);
  const again = (cell) => {
    pair.cell = cell;
    const [x, y] = [pan.scrollLeft / pan.scrollWidth, pan.scrollTop / pan.scrollHeight];
    const other = drawMatrix(pair, card, space, view, minus);
    figure.replaceWith(other);
    other.firstChild.scrollTo(x * other.firstChild.scrollWidth, y * other.firstChild.scrollHeight);
    return other;
  };
  figure.append(
    html(
      "figcaption",
      {},
      scrolls || (pair.cell && !onPaper()) ? zoomButtons(g.cell, again) : null,
      data.caption ? `${title}, score: ${data.caption}` : title,
      minus !== null || (pair.m[view] && String(extentOf(view)) !== String(extentOf(viewOf(pair))))
        ? tellScale(low, high, ramp)
        : null,
    ),
  );
  if (pair.directions.s === "rtl") requestAnimationFrame(() => pan.scrollTo(pan.scrollWidth, 0));
  return figure;
}

const ZOOMS = [4, 6, 9, 12, 15, 20, 27]; // pixels of a cell; from 9 on words fit beside it

function zoomButtons(cell, again) {
  const nearest = ZOOMS.reduce((a, b) => (Math.abs(b - cell) < Math.abs(a - cell) ? b : a));
  const button = (text, label, step) => {
    const next = ZOOMS[ZOOMS.indexOf(nearest) + step];
    const node = html("button", { type: "button", "aria-label": label, disabled: !next }, text);
    node.addEventListener("click", () => again(next).querySelector(`[aria-label="${label}"]`).focus());
    return node;
  };
  return html("span", { class: "zoom" }, button("−", "Smaller cells", -1), button("+", "Larger cells", 1));
}

// The words above stay above, and those on the left stay on the left, when the matrix is moved under them; the other
// matrices of the pair move with it.
function keepInSight(pan, { above, left, corner }) {
  pan.addEventListener("scroll", () => {
    const { scrollLeft: x, scrollTop: y } = pan;
    above.setAttribute("transform", `translate(0 ${y})`);
    left.setAttribute("transform", `translate(${x} 0)`);
    corner.setAttribute("transform", `translate(${x} ${y})`);
    for (const other of pan.closest(".pair").querySelectorAll(".pan")) other.scrollTo(x, y);
    scrollTip();
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

// A square root shows small weights; linear colors are those of `nmtalign heatmap --linear`.
const toScale = (x) => (state.linear ? x : Math.sqrt(x));

function drawLabels(pair, picture, place, g) {
  const strip = (width, height, lang = null) => {
    const group = svg("g", { lang }, svg("rect", { class: "strip", width, height }));
    picture.append(group);
    return group;
  };
  const left = strip(g.left, g.top + pair.T * g.cell + 8, data.languages[1]);
  const above = strip(g.left + pair.S * g.cell + 8, g.top, data.languages[0]);
  const label = (side, at, word, where) =>
    svg(
      "text",
      { "data-side": side, "data-at": at, "font-size": g.size, "dominant-baseline": "central", ...where },
      isolate(shorten(word, 18), pair.directions[side]),
    );
  pair.s.forEach((word, s) => {
    const [x] = place(s, 0);
    above.append(label("s", s, word, { transform: `translate(${x + g.cell / 2} ${g.top - 5}) rotate(-90)` }));
  });
  pair.t.forEach((word, t) =>
    left.append(label("t", t, word, { x: g.left - 5, y: g.top + (t + 0.5) * g.cell, "text-anchor": "end" })),
  );
  return { above, left, corner: strip(g.left, g.top) };
}

// Circles are the links of a panel; diamonds are those of the other panel in the difference of two, else those of the
// system that is compared with.
function marksOf(pair, view, minus) {
  const others = besideOf(pair) === null ? pair.others[state.compare] : null;
  return {
    gold: state.edit ? goldOf(pair) : pair.gold,
    diamonds: minus === null ? others : linksOf(pair, minus),
    dots: ownLinks(pair, view),
  };
}

export function drawMarks(picture, place, cell, { gold, diamonds, dots }) {
  const parts = (key) => place(...positions(key));
  for (const [key, sure] of gold ?? []) {
    const [x, y] = parts(key);
    const gap = Math.min(1.5, cell / 6);
    const box = { x: x + gap, y: y + gap, width: cell - 2 * gap, height: cell - 2 * gap };
    for (const color of ["black", "white"]) {
      picture.append(svg("rect", { class: `box ${color} ${sure ? "sure" : "possible"}`, ...box }));
    }
  }
  for (const key of diamonds?.keys() ?? []) {
    const [x, y] = parts(key);
    const h = cell / 2;
    const r = cell * 0.4;
    for (const under of [" under", ""]) {
      picture.append(
        svg("path", {
          class: `diamond${under}`,
          d: `M${x + h} ${y + h - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z`,
        }),
      );
    }
  }
  for (const key of dots?.keys() ?? []) {
    const [x, y] = parts(key);
    picture.append(
      svg("circle", {
        class: cell < 9 ? "dot small" : "dot",
        cx: x + cell / 2,
        cy: y + cell / 2,
        r: Math.max(1, cell * 0.17),
      }),
    );
  }
}

function followCells(pair, card, picture, cursor, place, column, g) {
  let now = pair.cursor ?? null;
  const band = (side, at) => {
    const [x, y] = side === "s" ? place(at, 0) : place(0, at);
    const row = side === "t";
    return svg(
      "rect",
      row
        ? { class: "band", x: g.left, y, width: pair.S * g.cell, height: g.cell }
        : { class: "band", x, y: g.top, width: g.cell, height: pair.T * g.cell },
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
  pair.bands.push((side, at) => {
    cursor.replaceChildren(band(side, at));
    const link = [...pair.links.keys()].map(positions).find((one) => one[side === "s" ? 0 : 1] === at);
    reveal(...(link ?? (side === "s" ? [at, null] : [null, at])));
  });
  const show = (s, t, spoken) => {
    now = pair.cursor = [s, t];
    const [x, y] = place(s, t);
    cursor.replaceChildren(
      band("t", t),
      band("s", s),
      svg("rect", { class: "cursor", x, y, width: g.cell, height: g.cell }),
    );
    if (spoken) reveal(s, t);
    clearAttention(card);
    light(card, (key) => key === `${s}-${t}`);
    for (const node of card.querySelectorAll(
      `[data-side="s"][data-at="${s}"], [data-side="t"][data-at="${t}"]`,
    )) {
      node.classList.add("on");
    }
    const told = explainCell(pair, s, t);
    const free = () => {
      const { left, right, top } = picture.getBoundingClientRect();
      return { left, right, top: top + y, bottom: top + y + g.cell, at: top + y + g.cell / 2 };
    };
    showTip(free, ["right", "left", "below", "above"], told);
    if (spoken) byId("live").textContent = `${told.title}: ${told.text}`;
  };
  const leave = () => unlight(card);
  const point = (event) => {
    const frame = picture.getBoundingClientRect();
    const seen = picture.parentElement.getBoundingClientRect();
    if (event.clientX < seen.left + g.left || event.clientY < seen.top + g.top) return leave(); // on words
    const s = column(Math.floor((event.clientX - frame.x - g.left) / g.cell));
    const t = Math.floor((event.clientY - frame.y - g.top) / g.cell);
    if (s < 0 || t < 0 || s >= pair.S || t >= pair.T) return leave();
    if (!now || now[0] !== s || now[1] !== t || tip.hidden) show(s, t, false);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("click", (event) => {
    point(event);
    if (picture.querySelector(".cursor")) chooseCell(pair, ...now, null, picture);
  });
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("focus", () => {
    if (pair.S && pair.T && picture.matches(":focus-visible")) show(...(now ?? [0, 0]), true);
  });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") leave();
    if (now && chooseCell(pair, ...now, event.key, picture)) return event.preventDefault();
    if (!step || !pair.S || !pair.T) return;
    event.preventDefault();
    const [s, t] = now ?? [0, 0];
    const way = pair.directions.s === "rtl" ? -1 : 1;
    show(clamp(s + way * step[0], 0, pair.S - 1), clamp(t + step[1], 0, pair.T - 1), true);
  });
}

// The colors of the weights that all pairs show; others tell theirs below the matrix.
export const tellColors = (view) => tellScale(...extentOf(view), colors(), toldView(view));

function tellScale(low, high, ramp, name = "") {
  const told = state.linear || ramp === data.differences ? null : `middle ${share(low + (high - low) / 4)}`;
  return html("span", { class: "of-matrix scales" }, name, scaleBar(low, high, ramp), told);
}

function scaleBar(low, high, ramp) {
  const bar = svg("svg", { class: "scale", width: ramp.length * 3, height: 9, "aria-hidden": "true" });
  ramp.forEach((fill, i) => bar.append(svg("rect", { x: i * 3, y: 0, width: 3.2, height: 9, fill })));
  return html("span", {}, share(low), " ", bar, " ", share(high));
}

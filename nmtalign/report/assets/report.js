"use strict";
// Draws the report from the JSON in #data. Words reach the page as text nodes only, never as markup.
// Letters: s source position, t target position, S and T their counts; weights[t * S + s].
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const colours = data.colours;
const byId = (id) => document.getElementById(id);
const state = { view: "combined", compare: data.compare, query: "", only: false, matrices: window.innerWidth > 700, sort: "n", down: false };

// ---- small helpers -------------------------------------------------------------------------------------

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== false) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const quote = (word) => `\u2068‘${word}’\u2069`; // isolates keep right-to-left words inside their quotes
const share = (p) => (p < 0.005 && p > 0 ? "< 0.01" : p.toFixed(2));
const percent = (x) => `${(100 * x).toFixed(1)} %`;
const shorten = (word, longest) => (word.length > longest ? `${word.slice(0, longest / 2)}…${word.slice(-longest / 2)}` : word);
const ruler = document.createElement("canvas").getContext("2d"), widths = new Map();
ruler.font = '100px system-ui, "Noto Sans", sans-serif';
function width(text, size) {
  if (!widths.has(text)) widths.set(text, ruler.measureText(text).width / 100);
  return widths.get(text) * size;
}

// ---- pairs ---------------------------------------------------------------------------------------------

function decode(packed, S, T) {
  const [low, high, bytes] = packed;
  const raw = atob(bytes), weights = new Float32Array(S * T).fill(low);
  for (let i = 0, cell = 0; i < raw.length; i++) {
    const level = raw.charCodeAt(i);
    if (level) weights[cell++] = low + ((high - low) * level) / 255;
    else cell += raw.charCodeAt(++i); // a zero is followed by the number of zeros
  }
  return weights;
}

function flatSet(flat, step = 2) {
  const map = new Map();
  for (let i = 0; i < flat.length; i += step) map.set(`${flat[i]}-${flat[i + 1]}`, step === 3 ? flat[i + 2] : 1);
  return map;
}

const pairs = data.pairs.map((raw) => {
  const pair = { ...raw, S: raw.s.length, T: raw.t.length };
  pair.links = flatSet(raw.l, 3); // "s-t" -> probability in thousandths
  pair.gold = raw.g ? flatSet(raw.g, 3) : null; // "s-t" -> 1 sure, 0 possible
  pair.others = raw.o.map((flat) => flatSet(flat));
  pair.text = `${raw.s.join(" ")}\n${raw.t.join(" ")}`.toLowerCase();
  return pair;
});
const byNumber = new Map(pairs.map((pair) => [`pair-${pair.n}`, pair]));

function weightsOf(pair, view) {
  pair.decoded ??= {};
  return (pair.decoded[view] ??= decode(pair.m[view], pair.S, pair.T));
}
const viewOf = (pair) => (pair.m[state.view] ? state.view : "combined");

// The links to draw, each with its kind under the chosen comparison.
function drawnLinks(pair) {
  const ours = [...pair.links.keys()];
  if (state.compare === "gold" && pair.gold) {
    const missed = [...pair.gold].filter(([key, sure]) => sure && !pair.links.has(key)).map(([key]) => [key, "missed"]);
    return [...ours.map((key) => [key, pair.gold.has(key) ? "hit" : "wrong"]), ...missed];
  }
  const other = pair.others[state.compare];
  if (!other) return ours.map((key) => [key, "both"]);
  return [...ours.map((key) => [key, other.has(key) ? "both" : "only"]), ...[...other.keys()].filter((key) => !pair.links.has(key)).map((key) => [key, "other"])];
}
const differs = (pair) => drawnLinks(pair).some(([, kind]) => ["wrong", "missed", "only", "other"].includes(kind));
const TAGS = { wrong: "×", missed: "+", only: "A", other: "B" };

// ---- why a link was made or refused --------------------------------------------------------------------

function preference(pair, s, t, side) {
  const w = weightsOf(pair, side === "t" ? "forward" in pair.m ? "forward" : "combined" : "reverse" in pair.m ? "reverse" : "combined");
  const best = side === "t" ? pair.bf[t] : pair.br[s];
  const word = side === "t" ? pair.t[t] : pair.s[s];
  const here = share(w[t * pair.S + s]);
  if (best < 0) return `${quote(word)} prefers to stay without a link (${share((side === "t" ? pair.nt[t] : pair.ns[s]) / 1000)} to ${here})`;
  const rival = side === "t" ? pair.s[best] : pair.t[best];
  const there = side === "t" ? w[t * pair.S + best] : w[best * pair.S + s];
  return `${quote(word)} prefers ${quote(rival)} (${share(there)} to ${here})`;
}

// The side whose word is linked as a second word, and the neighbour beside which it is; null for other links.
function secondWord(pair, s, t) {
  const likely = (a, b) => (pair.links.get(`${a}-${b}`) ?? 0) >= 1000 * data.rule.threshold - 0.5;
  const signs = [pair.s[s], pair.t[t]].some((word) => !/[\p{L}\p{N}]/u.test(word));
  if (data.rule.second === null || likely(s, t) || signs) return null;
  for (const k of [t - 1, t + 1]) if (likely(s, k) && !pair.s.some((_, a) => likely(a, t))) return ["t", pair.t[k]];
  for (const k of [s - 1, s + 1]) if (likely(k, t) && !pair.t.some((_, b) => likely(s, b))) return ["s", pair.s[k]];
  return null;
}

function verdict(pair, s, t) {
  const linked = pair.links.has(`${s}-${t}`);
  const row = pair.bf[t] === s, column = pair.br[s] === t;
  const p = weightsOf(pair, "combined")[t * pair.S + s], limit = data.rule.threshold;
  const by = data.rule.name ? ` by the rule “${data.rule.name}”` : "";
  const second = secondWord(pair, s, t), of = second?.[0] === "t" ? "forward" : "reverse";
  const own = second && weightsOf(pair, of)[t * pair.S + s];
  const word = second && quote(second[0] === "t" ? pair.t[t] : pair.s[s]), beside = second && quote(second[1]);
  if (linked && second) {
    return ["✓ Linked", `a second word: ${word} has no other link, stands beside ${beside}, and its direction gives this link ${share(own)} against ${data.rule.second}. Chosen${by}.`];
  }
  if (linked) {
    const why = row && column ? "each is the other’s best choice" : row ? "the best source word for this target word" : column ? "the best target word for this source word" : "neither is the other’s best choice";
    return ["✓ Linked", `${why}${limit !== null ? `; ${share(p)} against a threshold of ${limit}` : ""}. Chosen${by}.`];
  }
  const reasons = [];
  if (!row) reasons.push(preference(pair, s, t, "t"));
  if (!column) reasons.push(preference(pair, s, t, "s"));
  if (limit !== null && p < limit) reasons.push(`${share(p)} is below the threshold ${limit}`);
  if (second) reasons.push(`as a second word beside ${beside}, ${word} would need ${data.rule.second} in its direction, and has ${share(own)}`);
  return ["✗ Not linked", reasons.length ? `${reasons.join("; ")}. Decided${by}.` : `left out${by}.`];
}

function explainCell(pair, s, t) {
  const at = t * pair.S + s, key = `${s}-${t}`, [mark, why] = verdict(pair, s, t);
  const facts = [];
  if (pair.links.has(key)) facts.push(["probability", (pair.links.get(key) / 1000).toFixed(3)]);
  facts.push(["combined weight", share(weightsOf(pair, "combined")[at])]);
  if (pair.m.forward) facts.push(["forward: target looks at source", share(weightsOf(pair, "forward")[at])]);
  if (pair.m.reverse) facts.push(["reverse: source looks at target", share(weightsOf(pair, "reverse")[at])]);
  if (pair.nt) facts.push(["target word has no partner", share(pair.nt[t] / 1000)]);
  if (pair.ns) facts.push(["source word has no partner", share(pair.ns[s] / 1000)]);
  if (pair.gold) facts.push(["gold", pair.gold.has(key) ? (pair.gold.get(key) ? "sure" : "possible") : "no link"]);
  data.others.forEach((name, i) => facts.push([name, pair.others[i].has(key) ? "linked" : "no link"]));
  return { title: `${quote(pair.s[s])} → ${quote(pair.t[t])}`, facts, text: `${mark}: ${why}` };
}

function likeliest(pair, side, i) {
  const source = side === "s", view = source ? "reverse" : "forward", w = weightsOf(pair, pair.m[view] ? view : "combined");
  const weights = pair[source ? "t" : "s"].map((_, j) => w[source ? j * pair.S + i : i * pair.S + j]);
  const most = Math.max(...weights);
  return most >= 0.005 ? `The likeliest would be ${quote(pair[source ? "t" : "s"][weights.indexOf(most)])} (${share(most)}).` : "";
}

function explainWord(pair, side, i) {
  const source = side === "s", word = pair[side][i], lines = [];
  for (const [key] of pair.links) {
    const [s, t] = key.split("-").map(Number);
    if ((source ? s : t) === i) lines.push(`${quote(source ? pair.t[t] : pair.s[s])} ${(pair.links.get(key) / 1000).toFixed(2)}`);
  }
  const none = source ? pair.ns : pair.nt, facts = none ? [["has no partner", share(none[i] / 1000)]] : [];
  if (pair.u && pair.u[source ? 0 : 1].includes(i)) facts.push(["vector", "unknown word, none of its own"]);
  if (lines.length) return { title: quote(word), facts, text: `Linked to ${lines.join(", ")}.` };
  const best = source ? pair.br[i] : pair.bf[i];
  if (best < 0) return { title: quote(word), facts, text: `Not linked: no partner is likelier than none. ${likeliest(pair, side, i)}` };
  return { title: quote(word), facts, text: source ? `Its best choice is ${quote(pair.t[best])}. ${verdict(pair, i, best).join(": ")}` : `Its best choice is ${quote(pair.s[best])}. ${verdict(pair, best, i).join(": ")}` };
}

// ---- tooltip -------------------------------------------------------------------------------------------

const tip = byId("tip");
// box: a rectangle to leave free; the tooltip stands on the first of `sides` where there is room.
function showTip(box, sides, { title, facts, text }) {
  const list = html("dl");
  for (const [name, value] of facts) list.append(html("dt", {}, name), html("dd", {}, value));
  tip.replaceChildren(html("strong", {}, title), html("p", {}, text), list);
  tip.hidden = false;
  const { width: w, height: h } = tip.getBoundingClientRect(), W = window.innerWidth, H = window.innerHeight;
  const x = clamp((box.left + box.right - w) / 2, 8, Math.max(8, W - w - 8)), y = clamp(box.at - h / 2, 4, Math.max(4, H - h - 4));
  const places = { above: [x, box.top - h - 8], below: [x, box.bottom + 8], right: [box.right + 12, y], left: [box.left - w - 12, y] };
  const free = sides.find((side) => { const [a, b] = places[side]; return a >= 4 && b >= 0 && a + w <= W - 4 && b + h <= H; });
  const [left, top] = places[free ?? "below"];
  tip.style.left = `${clamp(left, 4, Math.max(4, W - w - 4))}px`;
  tip.style.top = `${clamp(top, 4, Math.max(4, H - h - 4))}px`;
}
const hideTip = () => { tip.hidden = true; };
function boxOf(node, at = node) {
  const { left, right, top, bottom } = node.getBoundingClientRect(), a = at.getBoundingClientRect();
  return { left, right, top, bottom, at: a.y + a.height / 2 };
}

// ---- one pair: words and curves ------------------------------------------------------------------------

function wordList(pair, side, card) {
  const linked = new Set([...pair.links.keys()].map((key) => Number(key.split("-")[side === "s" ? 0 : 1])));
  const words = pair[side].map((word, i) => {
    const alone = !linked.has(i), unknown = pair.u && pair.u[side === "s" ? 0 : 1].includes(i);
    const button = html("button", { type: "button", class: `${alone ? "alone" : ""}${unknown ? " unknown" : ""}`, tabindex: side === "s" && i === 0 ? 0 : -1, "data-side": side, "data-at": i }, word || "␣");
    if (alone) button.append(html("span", { class: "unseen" }, " (not linked)"));
    return html("li", {}, button);
  });
  const list = html("ol", { class: `words ${side === "s" ? "source" : "target"}`, dir: "auto", "aria-label": side === "s" ? "Source words" : "Target words" }, ...words);
  if (!words.length) list.append(html("li", {}, html("em", {}, "no words")));
  return list;
}

// Whether the words stand in two lines, and how wide that is: computed, for asking the page would lay it out.
function sizeOfWords(pair) {
  const line = (words) => words.reduce((sum, word) => sum + width(word, 15) + 13, 0);
  const column = (words) => Math.min(room / 2, 12 + Math.max(0, ...words.map((word) => width(word, 15))));
  const wide = Math.max(line(pair.s), line(pair.t)), across = !state.down && wide <= room;
  return { across, wide: across ? wide : column(pair.s) + 128 + column(pair.t) };
}

function drawSentences(pair, card, across) {
  const curves = svg("svg", { class: "curves", "aria-hidden": "true" });
  const box = html("div", { class: `sentences ${across ? "across" : "down"}` }, wordList(pair, "s", card), curves, wordList(pair, "t", card));
  box.addEventListener("pointerover", (event) => overWord(pair, card, event.target));
  box.addEventListener("focusin", (event) => overWord(pair, card, event.target));
  box.addEventListener("click", (event) => overWord(pair, card, event.target));
  box.addEventListener("pointerleave", () => unlight(card));
  box.addEventListener("focusout", () => unlight(card));
  box.addEventListener("keydown", (event) => moveFocus(pair, box, event, across));
  return box;
}

function makeCurves(pair, card) {
  const box = card.querySelector(".sentences"), curves = box.querySelector(".curves"), across = box.classList.contains("across");
  box.getBoundingClientRect(); // Chromium lays out a card that it has skipped, and tells 0 this first time
  const frame = curves.getBoundingClientRect(), buttons = { s: [], t: [] };
  for (const button of box.querySelectorAll("button")) buttons[button.dataset.side].push(button.getBoundingClientRect());
  const paths = [], marks = [];
  for (const [key, kind] of drawnLinks(pair)) {
    const [s, t] = key.split("-").map(Number), a = buttons.s[s], b = buttons.t[t];
    const from = across ? [a.x + a.width / 2 - frame.x, 1] : [1, a.y + a.height / 2 - frame.y];
    const to = across ? [b.x + b.width / 2 - frame.x, frame.height - 1] : [frame.width - 1, b.y + b.height / 2 - frame.y];
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    const bend = across ? [from[0], middle[1], to[0], middle[1]] : [middle[0], from[1], middle[0], to[1]];
    const d = `M${from} C${bend} ${to}`, p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    paths.push(svg("path", { class: `link ${kind}`, "stroke-width": (1 + 1.6 * p).toFixed(2), ...about }));
    if (TAGS[kind]) marks.push(svg("text", { class: `tag ${kind}`, x: middle[0], y: middle[1], "data-link": key }, TAGS[kind]));
    marks.push(svg("path", { class: "hit-area", ...about }));
  }
  return () => curves.append(...paths, ...marks);
}

function light(card, chosen) {
  card.classList.add("lit");
  const s = new Set(), t = new Set();
  for (const node of card.querySelectorAll("[data-link]")) {
    const on = chosen(node.dataset.link);
    node.classList.toggle("on", on);
    if (on) { const [a, b] = node.dataset.link.split("-"); s.add(a); t.add(b); }
  }
  for (const node of card.querySelectorAll("[data-side]")) node.classList.toggle("on", (node.dataset.side === "s" ? s : t).has(node.dataset.at));
}

function unlight(card) {
  card.classList.remove("lit");
  for (const node of card.querySelectorAll(".on")) node.classList.remove("on");
  hideTip();
}

function overWord(pair, card, node) {
  const link = node.dataset && node.dataset.link, button = node.closest && node.closest("button[data-side]");
  if (!link && !button) return unlight(card);
  const words = card.querySelector(".sentences"), across = words.classList.contains("across");
  const sides = !across ? ["right", "below", "above"] : button && button.dataset.side === "t" ? ["below", "above"] : ["above", "below"];
  if (link) {
    light(card, (key) => key === link);
    const [s, t] = link.split("-").map(Number);
    return showTip(boxOf(words, node), sides, explainCell(pair, s, t));
  }
  const { side, at } = button.dataset;
  light(card, (key) => key.split("-")[side === "s" ? 0 : 1] === at);
  button.classList.add("on");
  for (const label of card.querySelectorAll(`.matrix [data-side="${side}"][data-at="${at}"]`)) label.classList.add("on");
  showTip(across ? boxOf(button) : boxOf(words, button), sides, explainWord(pair, side, Number(at)));
  button.setAttribute("aria-describedby", "tip");
}

// Arrow keys walk along a sentence and cross to the linked word of the other one.
function moveFocus(pair, box, event, across) {
  const { side, at } = event.target.dataset;
  if (event.key === "Escape") return hideTip();
  if (side === undefined) return;
  const i = Number(at), along = across ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const turned = across && getComputedStyle(event.target.closest("ol")).direction === "rtl";
  let next = null;
  if (along.includes(event.key)) next = [side, i + (event.key === along[turned ? 0 : 1] ? 1 : -1)];
  else if (event.key === "Home" || event.key === "End") next = [side, event.key === "Home" ? 0 : pair[side].length - 1];
  else if (event.key.startsWith("Arrow")) {
    const key = drawnLinks(pair).map(([link]) => link.split("-")).find((link) => link[side === "s" ? 0 : 1] === at);
    const other = side === "s" ? "t" : "s";
    next = [other, key ? Number(key[side === "s" ? 1 : 0]) : Math.min(i, pair[other].length - 1)];
  }
  const button = next && box.querySelector(`button[data-side="${next[0]}"][data-at="${next[1]}"]`);
  if (!next) return;
  event.preventDefault();
  if (!button) return;
  for (const old of box.querySelectorAll('button[tabindex="0"]')) old.tabIndex = -1;
  button.tabIndex = 0;
  button.focus();
}

// ---- one pair: the matrix ------------------------------------------------------------------------------

function matrixSizes(pair, space) {
  const wide = Math.max(pair.S, pair.T, 1), cell = clamp(Math.floor((Math.min(space, 540) - 100) / wide), 9, 27);
  const size = clamp(cell * 0.8, 9, 14);
  const longest = (words) => Math.min(130, Math.max(12, ...words.map((word) => width(shorten(word, 18), size)))) + 8;
  return { cell, size, left: longest(pair.t), top: longest(pair.s) };
}

function drawMatrix(pair, card, space) {
  const { S, T } = pair, view = viewOf(pair), w = weightsOf(pair, view), g = matrixSizes(pair, space);
  const [low, high] = pair.m[view];
  const place = (s, t) => [g.left + s * g.cell, g.top + t * g.cell];
  const picture = svg("svg", { width: g.left + S * g.cell + 8, height: g.top + T * g.cell + 8, tabindex: 0, role: "application", "aria-roledescription": "attention matrix", "aria-label": `Attention weights of pair ${pair.n}, ${view}: ${T} target words as rows, ${S} source words as columns. Arrow keys move from cell to cell.` });
  picture.append(svg("rect", { x: g.left, y: g.top, width: S * g.cell, height: T * g.cell, fill: colours[0] }));
  const levels = new Map();
  for (let t = 0; t < T; t++) for (let s = 0; s < S; s++) {
    const level = high > low ? Math.round(((w[t * S + s] - low) / (high - low)) * (colours.length - 1)) : colours.length - 1;
    const [x, y] = place(s, t);
    if (level) levels.set(level, `${levels.get(level) ?? ""}M${x} ${y}h${g.cell}v${g.cell}h${-g.cell}z`);
  }
  for (const [level, d] of levels) picture.append(svg("path", { d, fill: colours[level], "shape-rendering": "crispEdges" }));
  pair.s.forEach((word, s) => picture.append(svg("text", { "data-side": "s", "data-at": s, "font-size": g.size, transform: `translate(${g.left + (s + 0.5) * g.cell} ${g.top - 5}) rotate(-90)`, "dominant-baseline": "central" }, shorten(word, 18))));
  pair.t.forEach((word, t) => picture.append(svg("text", { "data-side": "t", "data-at": t, "font-size": g.size, x: g.left - 5, y: g.top + (t + 0.5) * g.cell, "text-anchor": "end", "dominant-baseline": "central" }, shorten(word, 18))));
  drawMarks(pair, picture, place, g.cell);
  const cursor = svg("g", {});
  picture.append(cursor);
  followCells(pair, card, picture, cursor, place, g);
  const scrolls = g.left + S * g.cell + 8 > room; // then it must be reachable by key
  const about = scrolls ? { tabindex: 0, role: "region", "aria-label": `Matrix of pair ${pair.n}` } : {};
  return html("figure", { class: "matrix", ...about }, picture, html("figcaption", {}, scaleBar(low, high), `${view} weights`));
}

function drawMarks(pair, picture, place, cell) {
  const parts = (key) => place(...key.split("-").map(Number));
  for (const [key, sure] of pair.gold ?? []) {
    const [x, y] = parts(key), box = { x: x + 1.5, y: y + 1.5, width: cell - 3, height: cell - 3 };
    for (const colour of ["black", "white"]) picture.append(svg("rect", { class: `box ${colour} ${sure ? "sure" : "possible"}`, ...box }));
  }
  for (const key of pair.others[state.compare]?.keys() ?? []) {
    const [x, y] = parts(key), h = cell / 2, r = cell * 0.4;
    for (const under of [" under", ""]) picture.append(svg("path", { class: `diamond${under}`, d: `M${x + h} ${y + h - r}l${r} ${r}l${-r} ${r}l${-r} ${-r}z` }));
  }
  for (const key of pair.links.keys()) {
    const [x, y] = parts(key);
    picture.append(svg("circle", { class: "dot", cx: x + cell / 2, cy: y + cell / 2, r: cell * 0.17 }));
  }
}

function followCells(pair, card, picture, cursor, place, g) {
  let now = null;
  const show = (s, t, spoken) => {
    now = [s, t];
    const [x, y] = place(s, t);
    cursor.replaceChildren(
      svg("rect", { class: "band", x: g.left, y, width: pair.S * g.cell, height: g.cell }),
      svg("rect", { class: "band", x, y: g.top, width: g.cell, height: pair.T * g.cell }),
      svg("rect", { class: "cursor", x, y, width: g.cell, height: g.cell }));
    light(card, (key) => key === `${s}-${t}`);
    for (const node of card.querySelectorAll(`[data-side="s"][data-at="${s}"], [data-side="t"][data-at="${t}"]`)) node.classList.add("on");
    const told = explainCell(pair, s, t), frame = picture.getBoundingClientRect();
    showTip({ left: frame.left, right: frame.right, top: frame.y + y, bottom: frame.y + y + g.cell, at: frame.y + y + g.cell / 2 }, ["right", "left", "below", "above"], told);
    if (spoken) byId("live").textContent = `${told.title}: ${told.text}`;
  };
  const leave = () => { cursor.replaceChildren(); unlight(card); };
  const point = (event) => {
    const frame = picture.getBoundingClientRect();
    const s = Math.floor((event.clientX - frame.x - g.left) / g.cell), t = Math.floor((event.clientY - frame.y - g.top) / g.cell);
    if (s < 0 || t < 0 || s >= pair.S || t >= pair.T) return leave();
    if (!now || now[0] !== s || now[1] !== t || tip.hidden) show(s, t, false);
  };
  picture.addEventListener("pointermove", point);
  picture.addEventListener("click", point);
  picture.addEventListener("pointerleave", leave);
  picture.addEventListener("blur", leave);
  picture.addEventListener("focus", () => { if (pair.S && pair.T && picture.matches(":focus-visible")) show(...(now ?? [0, 0]), true); });
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === "Escape") leave();
    if (!step || !pair.S || !pair.T) return;
    event.preventDefault();
    const [s, t] = now ?? [0, 0];
    show(clamp(s + step[0], 0, pair.S - 1), clamp(t + step[1], 0, pair.T - 1), true);
  });
}

function scaleBar(low, high) {
  const bar = svg("svg", { class: "scale", width: colours.length * 3, height: 9, "aria-hidden": "true" });
  colours.forEach((fill, i) => bar.append(svg("rect", { x: i * 3, y: 0, width: 3.2, height: 9, fill })));
  return html("span", {}, share(low), " ", bar, " ", share(high));
}

// ---- the list: pairs are drawn when they come near the window, and put away when they are far ----------

const list = byId("list");
let room = 0; // width inside a card
function measureRoom() { room = list.clientWidth - (window.innerWidth > 600 ? 34 : 22); }
function makeCard(pair) {
  const facts = [`${pair.S} : ${pair.T} words`, `${pair.links.size} links`];
  if (pair.p !== null) facts.push(`score ${pair.p.toFixed(2)}`);
  if (pair.a !== null) facts.push(`AER ${percent(pair.a)}`);
  data.others.forEach((name, i) => facts.push(`F1 with ${name} ${percent(pair.d[i])}`));
  const head = html("header", {}, html("h3", { id: `head-${pair.n}` }, html("a", { href: `#pair-${pair.n}` }, `Pair ${pair.n}`)), ...facts.map((fact) => html("span", {}, fact)));
  const card = html("article", { class: "pair", id: `pair-${pair.n}`, "aria-labelledby": `head-${pair.n}` }, head, html("div", { class: "body" }));
  pair.card = card;
  card.style.containIntrinsicBlockSize = `auto ${guessHeight(pair)}px`;
  putAway(pair);
  return card;
}

function guessHeight(pair) {
  const wide = Math.max(...[pair.s, pair.t].map((words) => words.join("  ").length * 8));
  const words = wide < room ? 136 : Math.max(pair.S, pair.T) * 24.8, cell = clamp(440 / Math.max(pair.S, pair.T, 1), 11, 27);
  const matrix = state.matrices ? pair.T * cell + 105 : 0;
  return 60 + (wide < 0.5 * room || wide > room ? Math.max(words, matrix) : words + matrix);
}

function putAway(pair) {
  pair.drawn = false;
  pair.card.lastChild.replaceChildren(html("div", {}, html("p", { class: "plain" }, pair.s.join(" ")), html("p", { class: "plain" }, pair.t.join(" "))));
}

function drawWords(pair) {
  const { across, wide } = sizeOfWords(pair), left = room - wide - 36;
  pair.drawn = true;
  pair.card.lastChild.replaceChildren(drawSentences(pair, pair.card, across));
  // beside the words, or below them when that is too narrow
  if (state.matrices) pair.card.lastChild.append(drawMatrix(pair, pair.card, left < Math.min(room, 320) ? room : left));
}

// All words first, then all places of words, then all curves: the page is laid out once.
function draw(...chosen) {
  chosen.forEach(drawWords);
  for (const append of chosen.map((pair) => makeCurves(pair, pair.card))) append();
}

const near = new IntersectionObserver((entries) => {
  const come = [];
  for (const { target, isIntersecting } of entries) {
    const pair = byNumber.get(target.id);
    if (isIntersecting && !pair.drawn) come.push(pair);
    else if (!isIntersecting && pair.drawn && !target.contains(document.activeElement)) putAway(pair);
  }
  draw(...come);
}, { rootMargin: "900px 0px" });

function redraw() { draw(...pairs.filter((pair) => pair.drawn)); }

// ---- table, search, order ------------------------------------------------------------------------------

// columns: [head, key, value of a row, text of a row, starts downwards, is a word]
function makeTable(columns, rows, caption, onSort) {
  const body = html("tbody"), heads = columns.map(([head, key, , , , word]) => html("th", { scope: "col", class: word ? "word" : null, "data-key": key }, html("button", { type: "button" }, head)));
  const sort = (index, down) => {
    const value = columns[index][2];
    rows.sort((a, b) => { const x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
    body.append(...rows.map((row) => row.tr));
    heads.forEach((head, i) => (i === index ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    if (onSort) onSort(columns[index][1], down);
  };
  heads.forEach((head, i) => head.firstChild.addEventListener("click", () => {
    const was = head.getAttribute("aria-sort");
    sort(i, was ? was === "ascending" : columns[i][4]);
  }));
  for (const row of rows) row.tr = html("tr", {}, ...columns.map(([, , , text, , word]) => { const shown = text(row); return html("td", { class: word ? "word" : null, dir: word ? "auto" : null }, shown); }));
  body.append(...rows.map((row) => row.tr));
  return { table: html("table", {}, html("caption", { class: "unseen" }, caption), html("thead", {}, html("tr", {}, ...heads)), body), sort };
}

function pairColumns() {
  const columns = [
    ["Pair", "n", (p) => p.n, (p) => html("a", { href: `#pair-${p.n}` }, `${p.n}`), false],
    ["Words", "words", (p) => p.S + p.T, (p) => `${p.S} : ${p.T}`, true],
  ];
  if (pairs.some((p) => p.p !== null)) columns.push(["Score", "score", (p) => p.p ?? Infinity, (p) => (p.p === null ? "–" : p.p.toFixed(2)), false]);
  if (pairs.some((p) => p.a !== null)) columns.push(["AER", "aer", (p) => p.a ?? -1, (p) => (p.a === null ? "–" : percent(p.a)), true]);
  data.others.forEach((name, i) => columns.push([`F1 ${shorten(name, 12)}`, `same-${i}`, (p) => p.d[i], (p) => percent(p.d[i]), false]));
  return columns;
}

function find() {
  const words = state.query.toLowerCase().split(" ").filter(Boolean);
  let count = 0;
  for (const pair of pairs) {
    const shown = words.every((word) => pair.text.includes(word)) && (!state.only || differs(pair));
    pair.card.hidden = pair.tr.hidden = !shown;
    count += shown;
  }
  byId("found").textContent = count === pairs.length ? `${count} pairs` : `${count} of ${pairs.length} pairs`;
}

// ---- toolbar, key, summary, plots, lexicon -------------------------------------------------------------

function choice(label, key, options) {
  const select = html("select", {}, ...options.map(([value, text]) => html("option", { value }, text)));
  select.value = String(state[key]);
  select.addEventListener("change", () => { state[key] = select.value; redraw(); drawKey(); find(); });
  return html("label", {}, label, select);
}
function tick(label, key) {
  const box = html("input", { type: "checkbox", "data-key": key });
  box.checked = state[key];
  box.addEventListener("change", () => { state[key] = box.checked; redraw(); drawKey(); find(); });
  return html("label", {}, box, label);
}
function makeToolbar() {
  const bar = document.querySelector(".toolbar"), views = data.views.map((view) => [view, view]);
  const against = [["none", "nothing"], ...(data.gold ? [["gold", "gold"]] : []), ...data.others.map((name, i) => [String(i), name])];
  bar.append(choice("Weights", "view", views));
  if (against.length > 1) bar.append(choice("Compare with", "compare", against), tick("only pairs that differ", "only"));
  bar.append(tick("matrices", "matrices"), tick("words in columns", "down"));
}

const KEYS = {
  none: [["both", "link"]],
  gold: [["hit", "link that the gold has"], ["wrong", "link that it has not"], ["missed", "sure gold link that is missing"]],
  other: [["both", "both"], ["only", "only here"], ["other", "only there"]],
};
function drawKey() {
  const kinds = KEYS[state.compare] ?? KEYS.other, key = byId("key");
  key.replaceChildren(...kinds.map(([kind, text]) => {
    const sample = svg("svg", { width: 34, height: 14, "aria-hidden": "true" }, svg("path", { class: `link ${kind}`, d: "M1 7H33", "stroke-width": 2 }));
    if (TAGS[kind]) sample.append(svg("text", { class: `tag ${kind}`, x: 17, y: 7 }, TAGS[kind]));
    return html("span", {}, sample, text);
  }));
  const cell = (draw, text) => {
    const sample = svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, svg("rect", { width: 16, height: 16, fill: colours[10] }));
    drawMarks(draw, sample, () => [0, 0], 16);
    key.append(html("span", {}, sample, text));
  };
  if (!state.matrices) return;
  const nothing = { links: new Map(), gold: null, others: {} }, one = new Map([["0-0", 1]]);
  cell({ ...nothing, links: one }, "link in the matrix");
  if (data.gold) { cell({ ...nothing, gold: one }, "sure in the gold"); cell({ ...nothing, gold: new Map([["0-0", 0]]) }, "possible"); }
  if (data.others[state.compare] !== undefined) cell({ ...nothing, others: { [state.compare]: one } }, data.others[state.compare]);
}

function drawSummary() {
  const tiles = data.summary.map(([name, value, note]) => html("div", { class: "tile" }, html("dt", {}, name), html("dd", {}, value, note ? html("small", {}, note) : null)));
  const settings = html("p", { class: "settings" }, "Settings: ", html("code", {}, data.settings || "not recorded"));
  byId("summary").append(html("dl", { class: "tiles" }, ...tiles), settings, html("div", { class: "plots" }, ...data.plots.map(drawPlot)));
}

function drawPlot({ title, note, labels, counts }) {
  const W = 230, H = 96, base = 80, step = W / counts.length, most = Math.max(1, ...counts), every = Math.ceil(labels.length / 7);
  const told = labels.map((label, i) => `${label}: ${counts[i]}`).join(", ");
  const picture = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}. ${told}` }, svg("line", { x1: 0, x2: W, y1: base, y2: base }));
  counts.forEach((count, i) => {
    const height = count ? Math.max(1.5, (66 * count) / most) : 0;
    picture.append(svg("rect", { x: i * step + 1, y: base - height, width: step - 2, height, rx: 1 }, svg("title", {}, `${labels[i]}: ${count}`)));
    if (i % every === 0) picture.append(svg("text", { x: (i + 0.5) * step, y: base + 12 }, labels[i]));
  });
  return html("figure", { class: "plot" }, html("figcaption", {}, title, html("small", {}, note)), picture);
}

function drawLexicon() {
  const rows = data.lexicon.map(([source, target, count, p]) => ({ source, target, count, p }));
  const columns = [["Source word", "source", (r) => r.source, (r) => r.source, false, true], ["Target word", "target", (r) => r.target, (r) => r.target, false, true], ["Links", "count", (r) => r.count, (r) => `${r.count}`, true], ["Mean probability", "p", (r) => r.p, (r) => (r.p / 1000).toFixed(2), true]];
  const { table } = makeTable(columns, rows, "Linked words of the sample");
  byId("lexicon").append(rows.length ? html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Lexicon; the column heads sort" }, table) : html("p", {}, "No links, so no lexicon."));
}

function chooseTheme() {
  const order = ["auto", "light", "dark"], button = byId("theme"), root = document.documentElement;
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "auto") + 1) % 3];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  });
}

function showAll() {
  state.query = byId("search").value = "";
  state.only = false;
  for (const box of document.querySelectorAll('[data-key="only"]')) box.checked = false;
  find();
}

function goTo() {
  const pair = byNumber.get(window.location.hash.slice(1));
  if (!pair) return settle(document.getElementById(window.location.hash.slice(1)));
  if (pair.card.hidden) showAll();
  draw(pair);
  settle(pair.card);
}

// Scroll to a part, and again when what lies before it has been drawn.
function settle(part) {
  if (!part) return;
  let rounds = 6;
  const again = () => { part.scrollIntoView(); if (--rounds) requestAnimationFrame(again); };
  again();
}

drawSummary();
makeToolbar();
drawKey();
measureRoom();
const index = makeTable(pairColumns(), pairs, "All pairs", () => { if (pairs[0].card) list.append(...pairs.map((pair) => pair.card)); });
byId("index").append(index.table);
list.append(...pairs.map(makeCard));
if (!pairs.length) list.append(html("p", {}, "This sample has no pairs."));
for (const pair of pairs) near.observe(pair.card);
find();
drawLexicon();
chooseTheme();
let typing = 0;
byId("search").addEventListener("input", (event) => { clearTimeout(typing); typing = setTimeout(() => { state.query = event.target.value; find(); }, 120); });
new ResizeObserver(() => { const before = room; measureRoom(); if (Math.abs(room - before) > 8) redraw(); }).observe(list);
window.addEventListener("hashchange", goTo);
window.addEventListener("scroll", hideTip, { passive: true });
window.addEventListener("beforeprint", () => { near.disconnect(); draw(...pairs.slice(0, 200).filter((pair) => !pair.card.hidden)); });
window.addEventListener("afterprint", () => { for (const pair of pairs) near.observe(pair.card); });
goTo();
document.documentElement.dataset.ready = "";
})();

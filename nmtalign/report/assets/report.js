// The tools above the pairs, the summary, the lexicon; and what begins when all files are read.

function choice(label, key, options) {
  const select = html("select", { "data-key": key }, ...options.map(([value, text]) => html("option", { value }, text)));
  select.value = String(state[key]);
  select.addEventListener("change", () => { state[key] = select.value; showChoice(); });
  return html("label", {}, label, select);
}
function showChoice() { showEditor(); redraw(); drawKey(); find(); }
function tick(label, key) {
  const box = html("input", { type: "checkbox", "data-key": key });
  box.checked = state[key];
  box.addEventListener("change", () => { state[key] = box.checked; showChoice(); });
  return html("label", {}, box, label);
}
// Weights of heads are left out of later pairs, to keep the file small.
function extent(view) {
  const shown = pairs.filter((pair) => pair.m[view]).length;
  return shown < pairs.length ? ` (${shown} pairs)` : "";
}
function makeToolbar() {
  const tools = document.querySelector(".toolbar"), views = data.views.map((view) => [view, view + extent(view)]);
  const against = [["none", "nothing"], ...(data.gold ? [["gold", "gold"]] : []), ...data.others.map((name, i) => [String(i), name])];
  const systems = [["=links", "links"], ...(data.gold ? [["=gold", "gold"]] : []), ...data.others.map((name, i) => [`=${i}`, name])];
  tools.append(choice("Weights", "view", views), choice("Beside", "beside", [["none", "nothing"], ["=all", "all weights"], ...views, ...systems]));
  if (against.length > 1) tools.append(choice("Compare with", "compare", against), tick("only pairs that differ", "only"));
  tools.append(tick("matrices", "matrices"), tick("linear colours", "linear"), tick("columns", "down"));
  if (root.dataset.kind !== "cards") tools.append(tick("edit links", "edit")); // the pairs of a report are lines of a text
}

const KEYS = {
  none: [["both", "link"]],
  gold: [["hit", "link in the gold"], ["wrong", "link not in it"], ["missed", "sure link missing"]],
  other: [["both", "both"], ["only", "only here"], ["other", "only there"]],
  edit: [["sure", "sure"], ["maybe", "possible"]],
};
function drawKey() {
  const kinds = KEYS[state.edit ? "edit" : state.compare] ?? KEYS.other, key = byId("key");
  key.replaceChildren(...kinds.map(([kind, text]) => {
    const sample = svg("svg", { width: 34, height: 14, "aria-hidden": "true" }, svg("path", { class: `link ${kind}`, d: "M1 7H33", "stroke-width": 2 }));
    if (TAGS[kind]) sample.append(svg("text", { class: `tag ${kind}`, x: 17, y: 7 }, TAGS[kind]));
    return html("span", {}, sample, text);
  }));
  const fan = svg("svg", { width: 34, height: 14, "aria-hidden": "true" }, svg("g", { class: "fan" }, svg("path", { d: "M1 2C17 2 17 12 33 12", "stroke-width": 4, opacity: 0.6 })));
  if (!onPaper()) key.append(html("span", { class: "of-matrix" }, fan, "attention of a word"));
  const cell = (draw, text) => {
    const sample = svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, svg("rect", { width: 16, height: 16, fill: colours[10] }));
    drawMarks(draw, sample, () => [0, 0], 16);
    key.append(html("span", { class: "of-matrix" }, sample, text));
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
  byId("headline").textContent = data.headline;
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
  const spot = (side, key) => (r) => html("button", { type: "button", class: "spot", "data-of": side }, r[key]);
  const rows = data.lexicon.map(([source, target, count, p]) => ({ source, target, count, p }));
  const columns = [["Source word", "source", (r) => r.source, spot("s", "source"), false, true], ["Target word", "target", (r) => r.target, spot("t", "target"), false, true], ["Links", "count", (r) => r.count, (r) => `${r.count}`, true], ["Mean probability", "p", (r) => r.p, (r) => (r.p / 1000).toFixed(2), true]];
  const table = makeTable(columns, rows, "Linked words of the sample");
  byId("lexicon").append(rows.length ? html("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Lexicon; the column heads sort" }, table) : html("p", {}, "No links, so no lexicon."));
}

function chooseTheme() {
  const order = ["auto", "light", "dark"], button = byId("theme");
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "auto") + 1) % 3];
    if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  });
}

function goTo() {
  if (readAddress()) find();
  if (spotting.hidden && spotted.words.length) drawSpotting();
  const name = anchor(), pair = byNumber.get(name), part = document.getElementById(name);
  if (!pair) {
    if (part?.matches("details")) part.open = true;
    return settle(part);
  }
  if (pair.card.hidden) showAll();
  writeAddress();
  for (const old of list.querySelectorAll(".sought")) old.classList.remove("sought");
  pair.card.classList.add("sought");
  draw(pair);
  settle(pair.card);
}

// Scroll to a part, or until its top is where it was, and again when what lies before it has been drawn.
function settle(part, top = null) {
  if (!part) return;
  let rounds = 6;
  const again = () => {
    if (top === null) part.scrollIntoView(); else window.scrollBy(0, part.getBoundingClientRect().top - top);
    if (--rounds) requestAnimationFrame(again);
  };
  again();
}

// Narrow windows begin with the tools folded, so that the first pair can be seen.
function foldTools() {
  const wide = window.matchMedia("(min-width: 1001px)"), set = () => { for (const fold of document.querySelectorAll(".fold")) fold.open = wide.matches || onPaper(); };
  wide.addEventListener("change", set);
  set();
}

function layOutForPaper() {
  near.disconnect();
  root.dataset.paper = "";
  bar.open = true;
  measureRoom();
  draw(...pairs.slice(0, 200).filter((pair) => !pair.card.hidden));
}
function layOutForScreen() {
  delete root.dataset.paper;
  bar.open = window.innerWidth > 1000;
  measureRoom();
  for (const pair of pairs) { if (pair.drawn) putAway(pair); near.observe(pair.card); }
}

let scrolled = 0;
function followScrolling() {
  hideTip();
  scrolled ||= requestAnimationFrame(() => { scrolled = 0; markCurrent(); });
}

readAddress();
drawSummary();
makeToolbar();
makeEditor();
drawKey();
drawFinder();
showFinder();
foldTools();
measureRoom();
drawIndex();
list.append(...pairs.map(makeCard));
if (!pairs.length) list.append(html("p", {}, "This sample has no pairs."));
for (const pair of pairs) near.observe(pair.card);
find();
drawLexicon();
makeSpotting();
drawErrors();
chooseTheme();
new ResizeObserver(() => root.style.setProperty("--bar-height", `${barHeight()}px`)).observe(bar);
new ResizeObserver(() => { const before = room; measureRoom(); if (Math.abs(room - before) > 8) redraw(); }).observe(list);
document.addEventListener("copy", copySentences);
window.addEventListener("hashchange", goTo);
window.addEventListener("scroll", followScrolling, { passive: true });
window.addEventListener("beforeprint", layOutForPaper);
window.addEventListener("afterprint", layOutForScreen);
goTo();
root.dataset.ready = "";

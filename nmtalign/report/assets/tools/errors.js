// Errors against the gold in groups: wrong links, sure links that are missing, and which of them two systems share.

import { byId, counted, data, directionOf, html, lower, percent } from "../page.js";
import { linksOf, pairs, positions, weightsOf } from "../pairs/pairs.js";
import { isError, judge } from "../panels.js";
import { showPinned } from "../pairs/light.js";
import { makeTable } from "./index.js";
import { addressOf } from "../filters.js";
import { inContext } from "./concordance.js";

const FUNCTION = 0.004; // share of the running words of its side from which a word is a function word
const running = { s: new Map(), t: new Map() };
const total = { s: 0, t: 0 };

function bin(n, ...ends) {
  const k = ends.findIndex((end) => n <= end);
  const low = 1 + (k < 0 ? ends.at(-1) : [0, ...ends][k]);
  return k < 0 ? `from ${low}` : low === ends[k] ? `${low}` : `${low} to ${ends[k]}`;
}

const timesSeen = (pair, s, t) => Math.min(running.s.get(lower(pair.s[s])), running.t.get(lower(pair.t[t])));

function countWords() {
  for (const side of ["s", "t"]) {
    for (const word of pairs.flatMap((pair) => pair[side].map(lower))) {
      running[side].set(word, (running[side].get(word) ?? 0) + 1);
      total[side] += 1;
    }
  }
}

function classOf(side, word) {
  if (!/[\p{L}\p{N}]/u.test(word)) return "punctuation";
  if (/\p{N}/u.test(word)) return "number";
  return running[side].get(lower(word)) >= FUNCTION * total[side] ? "function word" : "other";
}

const PEOPLE = "people: the model is sure";

// How sure the model is that the gold is wrong in a cell, from 0 to 1, as `batch.compare` defines it; weights are
// known to half a level.
function doubtOf({ pair, s, t }) {
  const key = `${s}-${t}`;
  return pair.gold.has(key)
    ? 1 - (weightsOf(pair, "combined")[t * pair.S + s] + 0.002) ** 0.5
    : pair.links.get(key) / 1000;
}

// Each gives the name of the group of a cell.
const GROUPS = {
  "word pair": (pair, s, t) => `${lower(pair.shown.s[s])} – ${lower(pair.shown.t[t])}`,
  "source word": (pair, s) => lower(pair.shown.s[s]),
  "target word": (pair, s, t) => lower(pair.shown.t[t]),
  class: (pair, s, t) => `${classOf("s", pair.s[s])} – ${classOf("t", pair.t[t])}`,
  "times the rarer word is seen": (pair, s, t) => bin(timesSeen(pair, s, t), 1, 2, 5, 10, 50),
  "who may be wrong": (pair, s, t) => (doubtOf({ pair, s, t }) > 0.9 ? PEOPLE : "the model"),
  "words of the longer side": (pair) => bin(Math.max(pair.S, pair.T), 10, 20, 30, 40, 60),
};

// Every cell that a system links or should link: { pair, s, t, kind }; beside another system kind is won, lost or both.
function judgedCells(view, against) {
  const cells = [];
  for (const pair of pairs.filter(({ gold }) => gold)) {
    const ours = linksOf(pair, view);
    const theirs = against === "none" ? null : linksOf(pair, against);
    for (const key of new Set([...ours.keys(), ...(theirs?.keys() ?? []), ...pair.gold.keys()])) {
      const [s, t] = positions(key);
      const a = judge(pair, ours, key);
      const b = theirs && judge(pair, theirs, key);
      const kind = !theirs ? a : isError(a) ? (isError(b) ? "both" : "lost") : isError(b) ? "won" : "";
      if (kind) cells.push({ pair, s, t, kind, told: isError(a) ? a : (b ?? a) });
    }
  }
  return cells;
}

const grouping = { group: Object.keys(GROUPS)[0], view: "=links", against: "none" };
const table = html("div", {
  class: "scroll",
  tabindex: 0,
  role: "region",
  "aria-label": "Groups of errors; the column heads sort",
});
const exampleBox = html("div", { id: "examples" });
let wordsAreCounted = false; // whether the words are counted, by which some groups are made
let shownGroup = null; // the group whose examples are shown

// The table is made when the fold is opened first.
export function drawErrors() {
  const fold = byId("errors");
  fold.addEventListener("toggle", () => {
    if (fold.open && !table.firstChild) drawGroups();
  });
  tellErrors();
}

function makeTools() {
  const select = (label, key, options) => {
    const node = html(
      "select",
      { "data-errors": key },
      ...options.map(([value, text]) => html("option", { value }, text)),
    );
    node.addEventListener("change", () => {
      grouping[key] = node.value;
      drawGroups();
    });
    return html("label", {}, label, node);
  };
  const groups = Object.keys(GROUPS).map((name) => [name, name]);
  const systems = [["=links", "these links"], ...data.others.map((name, i) => [`=${i}`, name])];
  const tools = html("div", { class: "toolbar" }, select("By", "group", groups));
  if (systems.length > 1) {
    tools.append(
      select("Errors of", "view", systems),
      select("against", "against", [["none", "nothing"], ...systems]),
    );
  }
  return tools;
}

function drawGroups() {
  if (!wordsAreCounted) countWords();
  wordsAreCounted = true;
  shownGroup = null;
  exampleBox.replaceChildren();
  table.replaceChildren(groupTable(grouping));
  table.scrollTop = 0;
}

const errorCounts = new WeakMap(); // pair -> { gold, wrong, missed }, its errors against that gold

function errorsOf(pair) {
  if (errorCounts.get(pair)?.gold === pair.gold) return errorCounts.get(pair);
  const keys = new Set([...pair.links.keys(), ...pair.gold.keys()]);
  const judged = [...keys].map((key) => judge(pair, pair.links, key));
  const count = (kind) => judged.filter((one) => one === kind).length;
  const found = { gold: pair.gold, wrong: count("wrong"), missed: count("missed") };
  errorCounts.set(pair, found);
  return found;
}

function tellErrors() {
  const fold = byId("errors");
  const judged = pairs.filter(({ gold }) => gold);
  fold.hidden = document.querySelector("nav [href='#errors']").hidden = !judged.length;
  if (judged.length && !table.parentNode) {
    fold.append(makeTools(), html("div", { class: "beside" }, table, exampleBox));
  }
  const count = (kind) => judged.reduce((sum, pair) => sum + errorsOf(pair)[kind], 0);
  const wrong = counted(count("wrong"), "wrong link");
  fold.querySelector("summary span").textContent = `${wrong}, ${count("missed")} missing`;
}

// After a correction: the same groups, sorted as they were, and the examples that are left of the one that is shown.
export function recountErrors() {
  tellErrors();
  if (!table.firstChild) return;
  if (!byId("errors").open) return table.replaceChildren();
  const { scrollTop } = table;
  const sorted = table.querySelector("[aria-sort]");
  const shown = shownGroup;
  drawGroups();
  if (sorted) {
    const head = table.querySelector(`[data-key="${sorted.dataset.key}"]`);
    do head.firstChild.click();
    while (head.getAttribute("aria-sort") !== sorted.getAttribute("aria-sort"));
  }
  table.scrollTop = scrollTop;
  const row = rowsOfGroups(grouping).get(shown);
  if (row?.cells.length) showExamples(row);
}

// The groups by their names, with how many links of each kind they have, and the errors among them.
function rowsOfGroups({ group, view, against }) {
  const rows = new Map();
  for (const cell of judgedCells(view, against)) {
    const name = GROUPS[group](cell.pair, cell.s, cell.t);
    if (!rows.has(name)) {
      rows.set(name, { name, cells: [], wrong: 0, missed: 0, right: 0, won: 0, lost: 0, both: 0 });
    }
    const row = rows.get(name);
    row[cell.kind] += 1;
    if (cell.kind !== "right") row.cells.push(cell);
  }
  rows.get(PEOPLE)?.cells.sort((a, b) => doubtOf(b) - doubtOf(a));
  return rows;
}

function groupTable({ group, view, against }) {
  const rows = rowsOfGroups({ group, view, against });
  const kinds = against === "none" ? ["wrong", "missed", "right"] : ["won", "lost", "both"];
  const ordered = /^(times|words)/.test(group);
  const value = (row) => (ordered ? Number(/\d+/.exec(row.name)) : row.name);
  const most = [...rows.values()]
    .filter(({ cells }) => cells.length)
    .sort((a, b) => (ordered ? value(a) - value(b) : b.cells.length - a.cells.length))
    .slice(0, 500);
  const name = (row) => {
    const button = html("button", { type: "button" }, row.name);
    button.addEventListener("click", () => {
      showExamples(row);
      exampleBox.firstChild.focus();
    });
    return button;
  };
  const number = (kind) => [
    kind[0].toUpperCase() + kind.slice(1),
    kind,
    (row) => row[kind],
    (row) => `${row[kind]}`,
    true,
  ];
  const rate = (row) => row.cells.length / (row.cells.length + row.right);
  const net = (row) => row.won - row.lost;
  const last =
    against === "none"
      ? ["Error", "rate", rate, (row) => percent(rate(row)), true]
      : ["Won less lost", "net", net, (row) => `${net(row)}`, true];
  const head = group[0].toUpperCase() + group.slice(1);
  const names = [head, "name", value, name, false, (row) => directionOf(row.name)];
  return makeTable([names, ...kinds.map(number), last], most, "Groups of errors");
}

const MOST = 60;

function showExamples({ name, cells }) {
  shownGroup = name;
  const around = (pair, side, at) =>
    html("span", { class: "around", dir: pair.directions[side] }, ...inContext(pair[side], [at], 6));
  const line = ({ pair, s, t, kind, told }) => {
    const link = html("a", { href: `#pair-${pair.n}` }, `Pair ${pair.n}`);
    link.addEventListener("click", () => {
      pair.pinned = { s, t };
      if (pair.card) showPinned(pair);
    });
    const what = told === "missed" ? "missed link" : "wrong link";
    return html(
      "li",
      {},
      link,
      { won: ` won, a ${what} of the other`, lost: ` lost, a ${what}`, both: ` a ${what} of both` }[kind] ??
        ` ${what}`,
      around(pair, "s", s),
      around(pair, "t", t),
    );
  };
  const chosen = [...new Set(cells.map(({ pair }) => pair))];
  const list = html("button", { type: "button" }, `List only ${counted(chosen.length, "pair")}`);
  list.addEventListener("click", () => {
    window.location.hash = addressOf(chosen);
  });
  exampleBox.replaceChildren(
    html("h3", { tabindex: -1 }, `${name}: ${counted(cells.length, "example")}`),
    html("ol", {}, ...cells.slice(0, MOST).map(line)),
    html("p", {}, cells.length > MOST ? `and ${cells.length - MOST} more ` : "", list),
  );
}

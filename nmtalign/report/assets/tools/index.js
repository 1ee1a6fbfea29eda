// Tables that can be sorted, and the index of the pairs, which marks the one that is being read.

import { barHeight, byId, clamp, data, html, list, percent, svg } from "../page.js";
import { byNumber, pairs, positions } from "../pairs/pairs.js";
import { isError, judge, shortNameOf } from "../panels.js";
import { bring, openCard, pairAt, shownPairs } from "../list.js";
import { titleOfTerm } from "../pairs/terms.js";

const rowOf = (columns, row) =>
  html(
    "tr",
    {},
    ...columns.map(([, , , text, , direction]) =>
      html("td", { class: direction ? "word" : null, dir: direction?.(row) ?? null }, text(row)),
    ),
  );

// columns: [head, key, value of a row, text or node of a row, starts downwards, direction of the words of a row where
// it has words]. `fill` puts the rows into the body when they are sorted, which `onSort` may delay.
export function makeTable(columns, rows, caption, fill = null, onSort = (reorder) => reorder()) {
  const body = html("tbody");
  fill ??= () => body.replaceChildren(...rows.map((row) => rowOf(columns, row)));
  const heads = columns.map(([head, key, , , , direction]) =>
    html(
      "th",
      { scope: "col", class: direction ? "word" : null, "data-key": key },
      html("button", { type: "button", title: titleOfTerm(head) }, head),
    ),
  );
  const sort = (index, down) => {
    const values = new Map(rows.map((row) => [row, columns[index][2](row)]));
    rows.sort((a, b) => {
      const x = values.get(a);
      const y = values.get(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    fill();
    heads.forEach((head, i) =>
      i === index
        ? head.setAttribute("aria-sort", down ? "descending" : "ascending")
        : head.removeAttribute("aria-sort"),
    );
  };
  heads.forEach((head, i) =>
    head.firstChild.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      onSort(() => sort(i, was ? was === "ascending" : columns[i][4]));
    }),
  );
  fill();
  return html(
    "table",
    {},
    html("caption", { class: "unseen" }, caption),
    html("thead", {}, html("tr", {}, ...heads)),
    body,
  );
}

// The mean probability that a link is wrong; a pair without links is in full doubt.
export const doubt = (pair) =>
  1 - pair.l.reduce((sum, p, i) => sum + (i % 3 === 2 ? p / 1000 : 0), 0) / Math.max(1, pair.l.length / 3);

// A share with a bar below it, whose full length is the largest share of the table.
function barColumn(name, key, value) {
  const most = pairs.reduce((found, pair) => Math.max(found, value(pair) ?? 0), 1e-9);
  const text = (pair) => {
    const x = value(pair);
    if (x === null) return "–";
    const cell = html("span", { class: "part" }, percent(x));
    cell.style.setProperty("--part", clamp(x / most, 0, 1).toFixed(3));
    return cell;
  };
  return [name, key, (pair) => value(pair) ?? -1, text, true];
}

const MINIATURE = { width: 44, height: 16, radius: 3 }; // pixels

const judgedErrors = (pair) => {
  const keys = pair.gold ? [...new Set([...pair.links.keys(), ...pair.gold.keys()])] : [];
  return keys.map((key) => [key, judge(pair, pair.links, key)]).filter(([, kind]) => isError(kind));
};

// A miniature of the pair: wrong links as dots, missed ones as rings below them, where their target words are.
function drawMiniature(pair) {
  const { width, height, radius } = MINIATURE;
  const errors = judgedErrors(pair);
  const count = (kind) => errors.filter(([, one]) => one === kind).length;
  const told = `${count("wrong")} wrong, ${count("missed")} missed`;
  const picture = svg("svg", { class: "errors", width, height, role: "img", "aria-label": told });
  picture.append(svg("title", {}, told), svg("path", { d: `M0 ${height / 2}H${width}` }));
  for (const [key, kind] of errors) {
    const cx = radius + 1 + ((width - 2 * radius - 2) * positions(key)[1]) / Math.max(1, pair.T - 1);
    picture.append(svg("circle", { class: kind, cx, cy: kind === "wrong" ? 4 : height - 4, r: radius }));
  }
  return picture;
}

const UNSURE = 0.9; // of a pair score; where all are surer, they say nothing

// The last ones are hidden where there is no room for them.
function pairColumns() {
  const begin = (p) => html("span", { class: "begin", lang: data.languages[0] }, p.s.slice(0, 14).join(" "));
  const columns = [
    ["Pair", "n", (p) => p.n, (p) => html("a", { href: `#pair-${p.n}` }, `${p.n}${p.reviewed ? " ✓" : ""}`), false],
    ["Sentence", "text", (p) => p.s.join(" ").toLowerCase(), begin, false, (p) => p.directions.s],
    withErrors
      ? barColumn("AER", "aer", (p) => p.error)
      : barColumn("Doubt", "doubt", doubt),
  ];
  data.others.forEach((_, i) => {
    const head = `${data.gold ? "AER" : "F1"} ${shortNameOf(i)}`;
    columns.push([head, `other-${i}`, (p) => p.scoreOf(i) ?? -1, (p) => percent(p.scoreOf(i)), data.gold]);
  });
  if (withErrors) columns.push(["Errors", "errors", (p) => judgedErrors(p).length, drawMiniature, true]);
  if (pairs.some((p) => p.p !== null && p.p < UNSURE)) {
    columns.push([
      "Score",
      "score",
      (p) => p.p ?? Infinity,
      (p) => (p.p === null ? "–" : p.p.toFixed(2)),
      false,
    ]);
  }
  columns.push(["Words", "words", (p) => p.S + p.T, (p) => `${p.S}:${p.T}`, true]);
  return columns;
}

const ROW = 32; // height, as in the style sheet
const MORE = 25; // rows above and below those that are seen
let columns = [];
let withErrors = false; // whether there is a column of errors, else it is one of doubt

export function drawIndex() {
  const box = byId("index");
  withErrors = pairs.some((pair) => pair.error !== null);
  columns = pairColumns();
  const table = makeTable(columns, pairs, "All pairs", drawRows, sortPairs);
  box.replaceChildren(table);
  box.onscroll = drawRows;
  box.onkeydown = walk;
  box.onclick = (event) => {
    if (!event.target.closest("a, button")) event.target.closest("tr")?.querySelector("a")?.click();
  };
}

// The same pairs with errors that have changed.
export function recountRows() {
  columns = pairColumns();
  drawRows();
}

// The rows that are seen; the others are space.
export function drawRows() {
  const box = byId("index");
  const rows = shownPairs();
  const first = clamp(Math.floor(box.scrollTop / ROW) - MORE, 0, rows.length);
  const last = Math.min(rows.length, first + Math.ceil(box.clientHeight / ROW) + 2 * MORE);
  const focused = document.activeElement.closest("#index tbody tr")?.querySelector("a").hash;
  const space = (count) => {
    const row = html("tr", { class: "space", "aria-hidden": "true" });
    row.style.height = `${count * ROW}px`;
    return row;
  };
  const drawn = rows.slice(first, last).map((pair, i) => {
    const tr = rowOf(columns, pair);
    tr.setAttribute("aria-rowindex", String(first + i + 2));
    if (pair === current) mark(tr);
    tr.querySelector("a").tabIndex = -1;
    return tr;
  });
  const stop = drawn[rows.indexOf(current) - first] ?? drawn[0]; // the one tab stop of the list
  if (stop) stop.querySelector("a").tabIndex = 0;
  const body = box.querySelector("tbody");
  if (!body) return;
  body.parentElement.setAttribute("aria-rowcount", String(rows.length + 1));
  body.replaceChildren(space(first), ...drawn, space(rows.length - last));
  if (focused) body.querySelector(`a[href="${focused}"]`)?.focus({ preventScroll: true });
}

// Arrow keys walk from row to row of the list, and Enter goes on to the card.
function walk(event) {
  const link = event.target.closest("tbody a");
  const rows = shownPairs();
  if (link && event.key === "Enter") {
    event.preventDefault();
    return openCard(byNumber.get(link.hash.slice(1)));
  }
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -rows.length, End: rows.length }[event.key];
  if (!link || !step) return;
  event.preventDefault();
  event.stopPropagation();
  const at = rows.findIndex((pair) => `#pair-${pair.n}` === link.hash);
  const next = clamp(at + step, 0, rows.length - 1);
  const box = byId("index");
  const head = box.querySelector("thead").offsetHeight;
  const over = next * ROW - box.scrollTop;
  const under = (next + 1) * ROW + head - box.clientHeight - box.scrollTop;
  if (over < 0 || under > 0) box.scrollTop += over < 0 ? over : under;
  drawRows();
  const found = box.querySelector(`a[href="#pair-${rows[next].n}"]`);
  for (const old of box.querySelectorAll('tbody a[tabindex="0"]')) old.tabIndex = -1;
  found.tabIndex = 0;
  found.focus({ preventScroll: true });
}

function mark(tr) {
  tr.classList.add("now");
  tr.querySelector("a").setAttribute("aria-current", "true");
}

// Whoever has begun to read stays at the same pair; at the top of the page the new order is read from its beginning.
export function sortPairs(reorder) {
  const held = list.getBoundingClientRect().top < barHeight() ? current : null;
  const top = held?.card?.getBoundingClientRect().top;
  reorder();
  document.dispatchEvent(new Event("sorted"));
  if (held) bring(held, top);
  else byId("index").scrollTop = 0;
  markCurrent();
}

let current = null;

export function markCurrent() {
  const y = barHeight() + 40;
  const pair = shownPairs().length ? pairAt(y) : null;
  if (pair === current) return showRow(pair);
  current = pair;
  showRow(pair);
  drawRows();
}

function showRow(pair) {
  const box = byId("index");
  const at = shownPairs().indexOf(pair);
  if (at < 0 || box.matches(":hover")) return;
  const over = at * ROW - box.scrollTop;
  const under = (at + 1) * ROW + box.querySelector("thead").offsetHeight - box.clientHeight - box.scrollTop;
  if (over < 0 || under > 0) box.scrollTop += over < 0 ? over : under;
}

// Tables that can be sorted, and the index of the pairs, which marks the one that is being read.

import { barHeight, byId, clamp, data, html, list, percent, settle, shorten } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";

// columns: [head, key, value of a row, text or node of a row, starts downwards, is a word]
export function makeTable(columns, rows, caption, onSort = (reorder) => reorder()) {
  const body = html("tbody");
  const heads = columns.map(([head, key, , , , word]) =>
    html(
      "th",
      { scope: "col", class: word ? "word" : null, "data-key": key },
      html("button", { type: "button" }, head),
    ),
  );
  const sort = (index, down) => {
    const value = columns[index][2];
    rows.sort((a, b) => {
      const x = value(a);
      const y = value(b);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    body.append(...rows.map((row) => row.tr));
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
  for (const row of rows) {
    row.tr = html(
      "tr",
      {},
      ...columns.map(([, , , text, , word]) =>
        html("td", { class: word ? "word" : null, dir: word ? "auto" : null }, text(row)),
      ),
    );
  }
  body.append(...rows.map((row) => row.tr));
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
  1 - [...pair.links.values()].reduce((sum, p) => sum + p / 1000, 0) / Math.max(1, pair.links.size);

// A share with a bar below it, whose full length is the largest share of the table.
function barColumn(name, key, value) {
  const most = Math.max(1e-9, ...pairs.map((pair) => value(pair) ?? 0));
  const text = (pair) => {
    const x = value(pair);
    if (x === null) return "–";
    const cell = html("span", { class: "part" }, percent(x));
    cell.style.setProperty("--part", clamp(x / most, 0, 1).toFixed(3));
    return cell;
  };
  return [name, key, (pair) => value(pair) ?? -1, text, true];
}

function pairColumns() {
  const begin = (p) => html("span", { class: "begin" }, p.s.slice(0, 14).join(" "));
  const columns = [
    ["Pair", "n", (p) => p.n, (p) => html("a", { href: `#pair-${p.n}` }, `${p.n}`), false],
    ["Sentence", "text", (p) => p.s.join(" ").toLowerCase(), begin, false, true],
    pairs.some((p) => p.a !== null)
      ? barColumn("AER", "aer", (p) => p.a)
      : barColumn("Doubt", "doubt", doubt),
    ["Words", "words", (p) => p.S + p.T, (p) => `${p.S}:${p.T}`, true],
  ];
  if (pairs.some((p) => p.p !== null)) {
    columns.push([
      "Score",
      "score",
      (p) => p.p ?? Infinity,
      (p) => (p.p === null ? "–" : p.p.toFixed(2)),
      false,
    ]);
  }
  data.others.forEach((name, i) =>
    columns.push([`F1 ${shorten(name, 12)}`, `same-${i}`, (p) => p.d[i], (p) => percent(p.d[i]), false]),
  );
  return columns;
}

export function drawIndex() {
  const box = byId("index");
  box.replaceChildren(makeTable(pairColumns(), pairs, "All pairs", sortPairs));
  box.onclick = (event) => {
    if (!event.target.closest("a, button")) event.target.closest("tr")?.querySelector("a")?.click();
  };
}

// Whoever has begun to read stays at the same pair; at the top of the page the new order is read from its beginning.
export function sortPairs(reorder) {
  const held = list.getBoundingClientRect().top < barHeight() ? current : null;
  const top = held?.card.getBoundingClientRect().top;
  reorder();
  list.append(...pairs.map((pair) => pair.card));
  if (held) settle(held.card, top);
  else byId("index").scrollTop = 0;
  markCurrent();
}

let current = null;

export function markCurrent() {
  const place = list.getBoundingClientRect();
  const y = barHeight() + 40;
  const card = document.elementFromPoint(place.left + place.width / 2, y)?.closest(".pair");
  const pair = card
    ? byNumber.get(card.id)
    : place.top > y
      ? pairs.find(({ card }) => !card.hidden)
      : current;
  if (pair === current) return showRow(pair);
  for (const [one, on] of [
    [current, false],
    [pair, true],
  ]) {
    one?.tr.classList.toggle("now", on);
    if (on) one?.tr.querySelector("a").setAttribute("aria-current", "true");
    else one?.tr.querySelector("a").removeAttribute("aria-current");
  }
  current = pair;
  showRow(pair);
}

function showRow(pair) {
  const box = byId("index");
  const row = pair?.tr;
  const head = box.querySelector("thead").offsetHeight;
  if (!row || row.hidden || box.matches(":hover")) return;
  const over = row.offsetTop - head - box.scrollTop;
  const under = row.offsetTop + row.offsetHeight - box.clientHeight - box.scrollTop;
  if (over < 0 || under > 0) box.scrollTop += over < 0 ? over : under;
}

// The systems against the gold, the summary of the report, and the lexicon. What the report was made with has intervals
// that a page cannot compute anew: after a correction it is called "as reported", and the new error stands beside it.

import { byId, counted, data, directionOf, html, percent, state, svg, wideWindow } from "../page.js";
import { directionOfSide, pairs } from "../pairs/pairs.js";
import { badgeOf, hasLongNames } from "../panels.js";
import { isChanged } from "../corrections/links.js";
import { addressOf } from "../filters.js";
import { pairsOfBar } from "./bars.js";
import { term, titleOfTerm, withTerm } from "../pairs/terms.js";
import { makeTable } from "./index.js";

export function drawSummary() {
  const tiles = data.summary.map(([name, value, note]) =>
    html(
      "div",
      { class: "tile" },
      html("dt", {}, withTerm(name)),
      html("dd", { class: ofGold(name) ? "of-gold" : null }, value, note ? html("small", {}, note) : null),
    ),
  );
  const settings = html(
    "p",
    { class: "settings" },
    "Settings: ",
    html("code", {}, data.settings || "not recorded"),
  );
  byId("summary").append(
    html("dl", { class: "tiles" }, ...tiles),
    html("p", { id: "corrected", class: "settings", hidden: "" }),
    settings,
    html("div", { class: "plots" }, ...data.plots.map(drawPlot)),
  );
}

// Whether a figure compares links with gold links.
const ofGold = (name) => /^(Precision|Recall|F1|AER)( of the corpus)?$/.test(name);

// The scores of the links of the pairs shown that have gold, as it is now.
function scoresNow() {
  const judged = pairs.filter(({ gold }) => gold);
  const sum = (count) => judged.reduce((total, pair) => total + count(pair), 0);
  const links = sum((pair) => pair.links.size);
  const sure = sum(({ gold }) => [...gold.values()].filter(Boolean).length);
  const right = sum((pair) => [...pair.links.keys()].filter((key) => pair.gold.has(key)).length);
  const found = sum((pair) => [...pair.links.keys()].filter((key) => pair.gold.get(key)).length);
  const rate = (part, whole) => (whole ? part / whole : null);
  const wrong = rate(right + found, links + sure);
  return {
    pairs: judged.length,
    precision: rate(right, links),
    recall: rate(found, sure),
    f1: rate(2 * right * found, right * sure + found * links), // the harmonic mean of both
    aer: wrong === null ? null : 1 - wrong,
  };
}

// After a correction: say which figures are those of the report, and what the errors are now.
export function tellTotals() {
  const corrected = pairs.filter(isChanged).length;
  for (const old of document.querySelectorAll(".reported")) old.remove();
  byId("corrected").hidden = !corrected;
  byId("headline").textContent = data.headline;
  byId("headline").title = titleOfTerm(data.headline) ?? "";
  if (!corrected) return;
  for (const figure of document.querySelectorAll(".of-gold")) {
    figure.append(html("small", { class: "reported" }, " (as reported)"));
  }
  if (!pairs.some(({ gold }) => gold)) {
    byId("corrected").textContent =
      `You have reviewed ${counted(corrected, "pair")}. Your own links do not judge those that they were made from: ` +
      "there is no gold, and no error rate.";
    return;
  }
  const { pairs: judged, precision, recall, f1, aer } = scoresNow();
  const told = `AER ${percent(aer)} after corrections`;
  byId("headline").textContent = `${data.headline}${data.gold ? ", as reported" : ""}; ${told}`;
  byId("corrected").textContent =
    `With ${corrected} corrected pair${corrected === 1 ? "" : "s"}, over the ${judged} shown that ` +
    `ha${judged === 1 ? "s" : "ve"} gold: precision ${percent(precision)}, recall ${percent(recall)}, ` +
    `F1 ${percent(f1)}, AER ${percent(aer)}.`;
}

// A bar leads to its pairs, which are looked for when it is chosen.
function linkOfBar(title, i, told, ...parts) {
  const link = svg("a", { href: "#pairs", "aria-label": `${told}; list the pairs` }, ...parts);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    window.location.hash = addressOf(pairsOfBar(title, i));
  });
  return link;
}

function drawPlot({ title, note, labels, counts }) {
  const W = 230;
  const H = 96;
  const base = 80;
  const step = W / counts.length;
  const most = Math.max(1, ...counts);
  const every = Math.ceil(labels.length / 7);
  const told = labels.map((label, i) => `${label}: ${counts[i]}`).join(", ");
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `${title}. ${told}` },
    svg("line", { x1: 0, x2: W, y1: base, y2: base }),
  );
  counts.forEach((count, i) => {
    const height = count ? Math.max(1.5, (66 * count) / most) : 0;
    const bar = svg(
      "rect",
      { x: i * step + 1, y: base - height, width: step - 2, height, rx: 1 },
      svg("title", {}, `${labels[i]}: ${count}`),
    );
    const column = svg("rect", { class: "column", x: i * step, y: 0, width: step, height: base });
    picture.append(count ? linkOfBar(title, i, `${labels[i]}: ${count}`, column, bar) : bar);
    if (i % every === 0) picture.append(svg("text", { x: (i + 0.5) * step, y: base + 12 }, labels[i]));
  });
  return html("figure", { class: "plot" }, html("figcaption", {}, withTerm(title), html("small", {}, note)), picture);
}

// A link of the page to the pairs that have a link of the words.
function pairsOfLink({ source, target, count }) {
  const found = encodeURIComponent(`link:${source}=${target}`);
  const told = `${count} links of ${source} to ${target}`;
  return html("a", { href: `#pairs&find=${found}`, "aria-label": told }, `${count}`);
}

export function drawLexicon() {
  const lookup = (side, key) => (r) =>
    html("button", { type: "button", class: "lookup", "data-of": side }, r[key]);
  const rows = data.lexicon.map(([source, target, count, p]) => ({ source, target, count, p }));
  const sides = [directionOfSide("s"), directionOfSide("t")];
  const ofSource = (r) => directionOf(r.source, sides[0]);
  const ofTarget = (r) => directionOf(r.target, sides[1]);
  const columns = [
    ["Source word", "source", (r) => r.source, lookup("s", "source"), false, ofSource],
    ["Target word", "target", (r) => r.target, lookup("t", "target"), false, ofTarget],
    ["Links", "count", (r) => r.count, pairsOfLink, true],
    ["Mean probability", "p", (r) => r.p, (r) => (r.p / 1000).toFixed(2), true],
  ];
  const table = makeTable(columns, rows, "Linked words of the sample");
  byId("lexicon").append(
    rows.length
      ? html(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": "Lexicon; the column heads sort" },
          table,
        )
      : html("p", {}, "No links, so no lexicon."),
  );
}

// ---- systems: their scores, best first, and what the difference to one of them may owe to chance ----

const percentOf = (x) => (x === null ? "–" : x.toFixed(1));
const signed = (x) => (x > 0 ? `+${x.toFixed(1)}` : x.toFixed(1).replace("-", "−"));

// How much the error of one system is above that of another: [difference, low, high, p], as the data have it or turned.
function difference(base, row) {
  const found = data.systems.differences[`${base}-${row}`];
  if (found) return found;
  const [value, low, high, p] = data.systems.differences[`${row}-${base}`];
  return [-value, -high, -low, p];
}

export function drawSystems() {
  const fold = byId("systems");
  fold.hidden = !data.systems;
  if (!data.systems) return;
  const { verdict, pairs: count, rows } = data.systems;
  const compared = Object.keys(data.systems.differences).length;
  fold.open = wideWindow.matches;
  fold.querySelector("summary span").textContent = verdict.replaceAll("p = ", "p\u00a0=\u00a0");
  fold.querySelector("summary span").classList.add("of-gold");
  const about = { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores of the systems" };
  const table = html("div", about);
  const draw = (base) => {
    table.replaceChildren(tableOf(rows, base));
    for (const button of table.querySelectorAll("[aria-pressed]")) {
      button.addEventListener("click", () => {
        draw(Number(button.dataset.row));
        table.querySelector(`[data-row="${button.dataset.row}"]`).focus();
      });
    }
    for (const button of table.querySelectorAll(".show")) button.addEventListener("click", () => showBeside(button));
  };
  const shared = compared > 1 ? ` / ${compared}` : "";
  const note =
    `Percent, on ${count.toLocaleString("en")} pairs with gold; ± half of the 95 % interval. A name compares the ` +
    `others with it by paired bootstrap: more than chance where p < .05${shared}.`;
  fold.append(table, html("p", { class: "settings" }, note));
  draw(0);
}

function tableOf(rows, base) {
  const above = `AER above ${shortSystemName(rows[base][0])}`;
  const heads = ["System", "Links", "Precision", "Recall", "AER", above, "p", "Pairs"];
  return html(
    "table",
    {},
    html("caption", { class: "unseen" }, "Systems, best first"),
    html("thead", {}, html("tr", {}, ...heads.map(headOf))),
    html("tbody", {}, ...rows.map((row, i) => rowOfSystem(row, i, base))),
  );
}

// The letter of a system in a report whose systems have long names, else its name.
function shortSystemName(name) {
  if (!hasLongNames()) return name;
  const i = data.others.indexOf(name);
  return i < 0 ? "A" : badgeOf(i);
}

const headOf = (head) => html("th", { scope: "col" }, head === "AER" ? term(head) : head);

function rowOfSystem([name, links, precision, recall, aer, margin], i, base) {
  const [value, low, high, p] = i === base ? [] : difference(base, i);
  const about = { type: "button", "aria-pressed": String(i === base), "data-row": i };
  const cell = (...content) => html("td", {}, ...content);
  const view = data.others.indexOf(name);
  const badge = hasLongNames() ? html("span", { class: "badge" }, shortSystemName(name)) : null;
  const show = html("button", { type: "button", class: "show", "data-view": view }, "show beside");
  return html(
    "tr",
    {},
    html("th", { scope: "row", class: "word" }, badge, html("button", about, name)),
    cell(links.toLocaleString("en")),
    cell(percentOf(precision)),
    cell(percentOf(recall)),
    cell(percentOf(aer), html("small", {}, ` ± ${percentOf(margin)}`)),
    i === base ? cell("–") : cell(signed(value), html("small", {}, ` [${signed(low)}, ${signed(high)}]`)),
    cell(i === base ? "–" : p),
    cell(view < 0 ? "" : show),
  );
}

// Put a system beside the links of the report, in each pair.
function showBeside({ dataset }) {
  state.view = "combined";
  state.beside = `=${dataset.view}`;
  document.dispatchEvent(new Event("chosen"));
}

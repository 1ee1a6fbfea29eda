// The summary of the report, and the lexicon.

import { byId, data, html, svg } from "../page.js";
import { makeTable } from "./index.js";

export function drawSummary() {
  const tiles = data.summary.map(([name, value, note]) =>
    html(
      "div",
      { class: "tile" },
      html("dt", {}, name),
      html("dd", {}, value, note ? html("small", {}, note) : null),
    ),
  );
  const settings = html(
    "p",
    { class: "settings" },
    "Settings: ",
    html("code", {}, data.settings || "not recorded"),
  );
  byId("headline").textContent = data.headline;
  byId("summary").append(
    html("dl", { class: "tiles" }, ...tiles),
    settings,
    html("div", { class: "plots" }, ...data.plots.map(drawPlot)),
  );
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
    { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}. ${told}` },
    svg("line", { x1: 0, x2: W, y1: base, y2: base }),
  );
  counts.forEach((count, i) => {
    const height = count ? Math.max(1.5, (66 * count) / most) : 0;
    picture.append(
      svg(
        "rect",
        { x: i * step + 1, y: base - height, width: step - 2, height, rx: 1 },
        svg("title", {}, `${labels[i]}: ${count}`),
      ),
    );
    if (i % every === 0) picture.append(svg("text", { x: (i + 0.5) * step, y: base + 12 }, labels[i]));
  });
  return html("figure", { class: "plot" }, html("figcaption", {}, title, html("small", {}, note)), picture);
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
  const columns = [
    ["Source word", "source", (r) => r.source, lookup("s", "source"), false, true],
    ["Target word", "target", (r) => r.target, lookup("t", "target"), false, true],
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

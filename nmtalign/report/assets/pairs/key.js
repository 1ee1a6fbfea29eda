// The key to what is drawn, which names only the marks that the pairs show.

import { data, html, state, svg } from "../page.js";
import { besideOf, nameOf, viewOf } from "./pairs.js";
import { TAGS } from "../panels.js";
import { drawnLinks } from "../corrections/links.js";
import { withTerm } from "./terms.js";

const MEANINGS = {
  hit: "a link that people made, too; the thicker, the surer",
  both: "a link; the thicker, the surer",
  wrong: "a link that people did not make",
  missed: "a link that people made, missed here",
  sure: "a link that you made",
  maybe: "a possible link",
  removed: "a link that you removed",
  only: "only here",
  other: "only there",
  theirs: "only in B",
};

function meaningOf(kind, panels) {
  // against the gold, a link of a pair without gold is simply a link
  if (kind === "both" && !["none", "gold"].includes(state.compare) && !panels) return "a link that both have";
  if (panels && kind === "both") return "in both";
  if (panels && kind === "only") return "only in A";
  return withTerm(MEANINGS[kind]);
}

const curveSample = (kind) => {
  const picture = svg(
    "svg",
    { width: 36, height: 16, "aria-hidden": "true" },
    svg("path", { class: `sample ${kind}`, d: "M2 2C2 12 34 4 34 14", "stroke-width": 2.5 }),
  );
  if (TAGS[kind]) picture.append(svg("text", { class: `sample-tag ${kind}`, x: 18, y: 8 }, TAGS[kind]));
  return picture;
};

const ringSample = () =>
  svg("svg", { width: 36, height: 16, "aria-hidden": "true" }, svg("circle", { class: "ring", cx: 18, cy: 8, r: 4.5 }));

const cellSample = () =>
  svg(
    "svg",
    { width: 36, height: 16, "aria-hidden": "true" },
    svg("rect", { class: "weight", x: 10, width: 16, height: 16, rx: 3 }),
    svg("circle", { class: "dot", cx: 18, cy: 8, r: 3 }),
  );

// The entries for some pairs: a drawing and its meaning.
export function keyOf(pairs) {
  const kinds = new Set();
  let alone = false;
  let panels = false;
  for (const pair of pairs) {
    const beside = besideOf(pair);
    panels ||= beside !== null;
    for (const view of [viewOf(pair), ...(beside === null ? [] : [beside])]) {
      const links = drawnLinks(pair, view);
      for (const { kind } of links) kinds.add(kind);
      const own = links.filter(({ kind }) => kind !== "missed" && kind !== "other").map(({ key }) => key.split("-"));
      for (const [k, size] of [pair.S, pair.T].entries()) alone ||= new Set(own.map((link) => link[k])).size < size;
    }
  }
  const entries = Object.keys(MEANINGS).filter((kind) => kinds.has(kind));
  const key = entries.map((kind) => [curveSample(kind), meaningOf(kind, panels)]);
  if (panels) key.push([html("span", { class: "letters" }, "A B"), "only in this panel; faint: in both"]);
  if (alone) key.push([ringSample(), "a word without a link"]);
  if (state.matrices) key.push([cellSample(), "a cell: stronger is likelier; dot: linked"]);
  return key;
}

// Names of the systems of a matrix's diamonds.
export const nameOfDiamonds = (pair) =>
  besideOf(pair) === null ? data.others[state.compare] : `B: ${nameOf(besideOf(pair))}`;

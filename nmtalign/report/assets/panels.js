// What a panel draws: its own links beside those of the gold, else of the panel next to it, or, where it stands alone,
// of another system.

import { counted, data, state } from "./page.js";
import { besideOf, linksOf, nameOf, viewOf } from "./pairs/pairs.js";

export const TAGS = { wrong: "×", missed: "+", only: "A", other: "B", theirs: "B" };
const SIGNS = { wrong: "×", missed: "+" }; // beside the letter of a panel

// A single panel draws the links of the report, whatever weights it shows.
export const ownLinks = (pair, view) =>
  view[0] === "=" || besideOf(pair) !== null ? linksOf(pair, view) : pair.links;

// The panel next to one, null where it stands alone.
const nextTo = (pair, view) => {
  const beside = besideOf(pair);
  return beside === null ? null : view === beside ? viewOf(pair) : beside;
};

const twoPanels = () => !["none", "=all", state.view].includes(state.beside);
export const nameOfPanel = (view) => (view === "combined" ? (data.own ?? "these links") : nameOf(view));
// A long name of a system is a letter where it would not fit; the legend above the pairs names it.
const MAX_SHORT_NAME = 12; // characters
export const hasLongNames = () => data.others.some((name) => name.length > MAX_SHORT_NAME);
export const badgeOf = (i) => String.fromCharCode(66 + Number(i)); // A is the links of the report
export const shortNameOf = (i) => (hasLongNames() ? badgeOf(i) : data.others[i]);
export const shortPanelName = (view) => (/^=\d/.test(view) ? shortNameOf(view.slice(1)) : nameOfPanel(view));
export const letterOf = (pair, view) => (view === besideOf(pair) ? "B" : "A");

// The links of a panel and those that it lacks: { key, kind, tag, shared }; what is shared is so next to it.
export function panelLinks(pair, view = viewOf(pair)) {
  const own = ownLinks(pair, view);
  const next = nextTo(pair, view);
  const theirs = next === null ? null : linksOf(pair, next);
  const letter = (key) => (own.has(key) && !theirs.has(key) ? letterOf(pair, view) : "");
  return kindsOf(pair, view, own, next).map(([key, kind]) => {
    if (view === "=gold" && !own.get(key)) return { key, kind: "maybe", shared: true, tag: "" };
    if (!theirs) return { key, kind, shared: false, tag: TAGS[kind] ?? "" };
    return { key, kind, shared: own.has(key) === theirs.has(key), tag: letter(key) + (SIGNS[kind] ?? "") };
  });
}

function kindsOf(pair, view, own, next) {
  const keys = [...own.keys()];
  if (state.compare === "gold" && pair.gold) {
    const missed = [...pair.gold].filter(([key, sure]) => sure && !own.has(key));
    return [
      ...keys.map((key) => [key, pair.gold.has(key) ? "hit" : "wrong"]),
      ...missed.map(([key]) => [key, "missed"]),
    ];
  }
  const other = next === null ? pair.others[state.compare] : linksOf(pair, next);
  if (!other) return keys.map((key) => [key, "both"]);
  const alone = next !== null && letterOf(pair, view) === "B" ? "theirs" : "only";
  const lacking = next === null ? [...other.keys()].filter((key) => !own.has(key)) : [];
  return [
    ...keys.map((key) => [key, other.has(key) ? "both" : alone]),
    ...lacking.map((key) => [key, "other"]),
  ];
}

// "9 links, 2 only here, 1 wrong, 3 missing"
export function tellPanel(pair, view) {
  const links = panelLinks(pair, view);
  const own = ownLinks(pair, view);
  const count = (chosen) => links.filter(chosen).length;
  const alone = count(({ key, shared }) => own.has(key) && !shared);
  const told = [counted(own.size, "link"), `${alone} only here`];
  if (state.compare === "gold" && pair.gold && view !== "=gold") {
    told.push(`${count(({ kind }) => kind === "wrong")} wrong`, `${count(({ kind }) => kind === "missed")} missing`);
  }
  return told.join(", ");
}

// Whether what a pair shows differs: the links of its two panels, else those of its one panel and what it is
// compared with.
export function differs(pair) {
  const beside = besideOf(pair);
  if (beside === null) return !twoPanels() && panelLinks(pair).some(({ tag }) => tag);
  const [ours, theirs] = [linksOf(pair, viewOf(pair)), linksOf(pair, beside)];
  return ours.size !== theirs.size || [...ours.keys()].some((key) => !theirs.has(key));
}

// The two systems of which the filters speak: the two panels, else the links of the report and what they are
// compared with, else the first other system; null where there is no second one.
export function rivals() {
  const first = state.view[0] === "=" ? state.view : "combined";
  if (twoPanels()) return [state.view, state.beside];
  const others = data.others.map((_, i) => `=${i}`).filter((view) => view !== first);
  const chosen = others.find((view) => view === `=${state.compare}`);
  return [first, chosen ?? others[0] ?? (first === "combined" ? null : "combined")];
}

export function judge(pair, links, key) {
  if (links.has(key)) return pair.gold.has(key) ? "right" : "wrong";
  return pair.gold.get(key) ? "missed" : "";
}

export const isError = (judged) => judged === "wrong" || judged === "missed";

// Whether there is a link that one of two systems has right and the other wrong.
export function wins(pair, links, others) {
  const keys = [...links.keys(), ...others.keys(), ...(pair.gold?.keys() ?? [])];
  const wrong = (own, key) => isError(judge(pair, own, key));
  return Boolean(pair.gold) && keys.some((key) => !wrong(links, key) && wrong(others, key));
}

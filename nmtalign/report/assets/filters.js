// Words of a search that are conditions: words:>30, link:cat=chat (a: and b: by one of two systems alone), is:differ,
// is:won (A right, B wrong), is:lost, pairs:3,10-20.

import { lower, quote, state } from "./page.js";
import { linksOf, pairs, positions } from "./pairs/pairs.js";
import { differs, rivals, shortPanelName, wins } from "./panels.js";

const LENGTH = /^words:([<>])(\d+)$/;
const LINK = /^(link|a|b):(.?[^=]*)=(.*)$/s;
const KIND = /^is:(differ|won|lost)$/;
const NUMBERS = /^pairs:(\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)$/;
export const isCondition = (word) => [LENGTH, LINK, KIND, NUMBERS].some((form) => form.test(word));

// The condition that some pairs meet and no other one; neighbors become a range.
function conditionOf(chosen) {
  const ranges = [];
  for (const { n } of [...chosen].sort((a, b) => a.n - b.n)) {
    if (ranges.length && ranges.at(-1)[1] === n - 1) ranges.at(-1)[1] = n;
    else ranges.push([n, n]);
  }
  return `pairs:${ranges.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join(",")}`;
}

// The address of the list of some pairs.
export const addressOf = (chosen) => `#pairs&find=${encodeURIComponent(conditionOf(chosen))}`;

const rangesOf = new Map(); // condition -> its ranges, read once for all pairs

function isNumbered(pair, condition) {
  if (!rangesOf.has(condition)) {
    const parts = NUMBERS.exec(condition)[1].split(",");
    rangesOf.set(condition, parts.map((part) => part.split("-").map(Number)));
  }
  return rangesOf.get(condition).some(([low, high = low]) => low <= pair.n && pair.n <= high);
}

// The links of the two systems in a pair, of which the second one may be missing.
const linksOfRivals = (pair) => rivals().map((view) => (view && linksOf(pair, view)) || new Map());

const FORMS = {
  is: "is: takes differ, won or lost",
  words: "words: takes > or < and a number, as in words:>30",
  link: "link: takes two words, as in link:cat=chat",
  pairs: "pairs: takes numbers of pairs, as in pairs:3,10-20",
};
export const formOf = (text) => FORMS[text.split(":")[0]] ?? FORMS.link.replaceAll("link:", `${text.split(":")[0]}:`);

// A condition in words.
export function meaningOfCondition(condition) {
  const [, than, limit] = LENGTH.exec(condition) ?? [];
  if (than) return `${than === ">" ? "over" : "under"} ${limit} words`;
  const [, kind] = KIND.exec(condition) ?? [];
  if (kind) return (conditions().find(([value]) => value === condition) ?? [0, `pairs that ${kind}`])[1];
  if (NUMBERS.test(condition)) return "pairs by their numbers";
  const [, by, source, target] = LINK.exec(condition) ?? [];
  const link = `a link of ${source || "any word"} to ${target || "any word"}`;
  return by === "link" ? link : `${link} by ${by.toUpperCase()} alone`;
}

// The cells of a pair that a condition names: both words as they are written, either may be omitted.
export function cellsLinked(pair, condition, folded) {
  const [, by, source, target] = LINK.exec(condition) ?? [];
  if (!by || (source && !folded.s.includes(source)) || (target && !folded.t.includes(target))) return [];
  const [ours, theirs] = linksOfRivals(pair);
  const found = { link: [ours, new Map()], a: [ours, theirs], b: [theirs, ours] }[by];
  const keys = [...found[0].keys()].filter((key) => !found[1].has(key));
  if (by === "link") keys.push(...theirs.keys());
  const fits = (word, wanted) => !wanted || word === wanted;
  return keys.map(positions).filter(([s, t]) => fits(folded.s[s], source) && fits(folded.t[t], target));
}

export function holds(pair, condition, folded) {
  const [, than, limit] = LENGTH.exec(condition) ?? [];
  if (than) {
    const words = Math.max(pair.S, pair.T);
    return than === ">" ? words > Number(limit) : words < Number(limit);
  }
  const [, kind] = KIND.exec(condition) ?? [];
  if (kind === "differ") return differs(pair);
  if (kind && rivals()[1] === null) return false;
  if (kind) return wins(pair, ...(kind === "won" ? linksOfRivals(pair) : linksOfRivals(pair).reverse()));
  if (NUMBERS.test(condition)) return isNumbered(pair, condition);
  return cellsLinked(pair, condition, folded()).length > 0;
}

// What the search offers, each with its meaning: conditions of two systems where there are two, and gold; and as
// examples a link and a word of these pairs.
export function conditions() {
  const [first, second] = rivals();
  const two = second !== null && pairs.some((pair) => pair.gold);
  const won = (a, b) => `${shortPanelName(a)} right, ${shortPanelName(b)} wrong`;
  const offers = [
    ["", "all pairs"],
    ["is:differ", "pairs that differ"],
    ...(two ? [["is:won", won(first, second)], ["is:lost", won(second, first)]] : []),
    ["words:>30", "over 30 words"],
    ["words:<10", "under 10 words"],
    ["-words:<10", "not under 10 words"],
  ];
  const example = exampleLink();
  if (!example) return offers;
  const [source, target] = example;
  const link = `link of ${quote(source)} to ${quote(target)}`;
  offers.push([`link:${source}=${target}`, `a ${link}`]);
  if (second !== null) {
    for (const by of ["a", "b"]) offers.push([`${by}:${source}=${target}`, `a ${link} by ${by.toUpperCase()} alone`]);
  }
  offers.push([`-${source}`, `without ${quote(source)}`]);
  return offers;
}

// The first link of two words of letters.
function exampleLink() {
  for (const pair of pairs.slice(0, 20)) {
    for (const key of pair.links.keys()) {
      const [s, t] = positions(key);
      const words = [lower(pair.s[s]), lower(pair.t[t])];
      if (words.every((word) => /^\p{L}+$/u.test(word))) return words;
    }
  }
  return null;
}

const parts = (text) => text.split(/\s+/).filter(Boolean);

// The condition of the search that is one of those offered, and how another one takes its place.
export const chosenCondition = (offers) =>
  parts(state.find).findLast((part) => offers.some(([value]) => value === part)) ?? "";

export function choose(condition, offers) {
  const others = parts(state.find).filter((part) => !offers.some(([value]) => value === part));
  state.find = [...others, condition].filter(Boolean).join(" ");
}

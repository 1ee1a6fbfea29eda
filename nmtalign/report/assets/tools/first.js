// What a reader sees first: an example with notes, then the most instructive error, or a difference of two systems.

import { byId, data, html, quote, wholePercent } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";
import { TERMS } from "../pairs/terms.js";

const MAX_READABLE = 20; // words of a sentence in which a difference is seen at a glance

const TERMS_TOLD_ELSEWHERE =
  "The page “Word alignment in ten minutes” of the documentation explains them with pictures.";

export function drawFirst() {
  const entries = Object.entries(TERMS).flatMap(([name, text]) => [
    html("dt", { id: `term-${name}` }, name),
    html("dd", {}, text),
  ]);
  byId("terms").append(html("dl", {}, ...entries), html("p", {}, TERMS_TOLD_ELSEWHERE));
  if (data.first) beginWithError(...data.first);
  const example = byNumber.get(`pair-${data.example}`);
  if (example) moveToTop(example);
  if (data.others.length) beginWithDifference();
}

// A comparison begins with the pair in which the two systems differ in the most links, if it is read at a glance.
function beginWithDifference() {
  const lacking = (links, others) => [...links.keys()].filter((key) => !others.has(key)).length;
  const count = ({ links, others }) => lacking(links, others[0]) + lacking(others[0], links);
  const readable = pairs.filter(({ S, T }) => Math.max(S, T) <= MAX_READABLE);
  const counts = new Map((readable.length ? readable : pairs).map((pair) => [pair, count(pair)]));
  const most = [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [null, 0])[0];
  if (!most) return;
  most.told ??= `differs most from ${data.others[0]}`;
  moveToTop(most);
}

const moveToTop = (pair) => pairs.unshift(...pairs.splice(pairs.indexOf(pair), 1));

function beginWithError(n, s, t) {
  const pair = byNumber.get(`pair-${n}`);
  const p = pair.links.get(`${s}-${t}`);
  const words = `${quote(pair.shown.s[s])} – ${quote(pair.shown.t[t])}`;
  const error = p === undefined ? `missing link ${words}` : `wrong link ${words}, ${wholePercent(p / 1000)} sure`;
  pair.told = `most instructive error: ${error}`;
  moveToTop(pair);
}

// What a reader sees, in a few sentences that can be closed for good. The first card is an example with notes, the next
// one the most instructive error.

import { byId, data, html, quote, wholePercent } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";
import { TERMS } from "../pairs/terms.js";

const CLOSED = "nmtalign-explained";

const TOLD =
  "Curves join linked words; the thicker a curve, the surer the link. " +
  "In the matrix a row is a target word, a column a source word, and a stronger cell a likelier link. " +
  "Point at a word, a curve or a cell to read why it is linked; click on a word to pin it.";

const TERMS_TOLD_ELSEWHERE =
  "The page “Word alignment in ten minutes” of the documentation explains them with pictures.";

export function drawFirst() {
  const fold = byId("first");
  fold.lastElementChild.textContent = TOLD;
  const entries = Object.entries(TERMS).flatMap(([name, text]) => [
    html("dt", { id: `term-${name}` }, name),
    html("dd", {}, text),
  ]);
  byId("terms").append(html("dl", {}, ...entries), html("p", {}, TERMS_TOLD_ELSEWHERE));
  try {
    fold.open = window.innerWidth > 1000 && localStorage.getItem(CLOSED) === null;
    fold.addEventListener("toggle", () =>
      fold.open ? localStorage.removeItem(CLOSED) : localStorage.setItem(CLOSED, "yes"),
    );
  } catch {
    fold.open = window.innerWidth > 1000; // a browser that keeps nothing
  }
  if (data.first) beginWithError(...data.first);
  const example = byNumber.get(`pair-${data.example}`);
  if (!example) return;
  example.told ??= "an example";
  moveToTop(example);
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

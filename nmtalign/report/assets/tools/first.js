// What a reader sees, in a few sentences that can be closed for good; the error to begin with is the first card.

import { byId, data, quote, share } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";

const CLOSED = "nmtalign-explained";

const TOLD =
  "Curves join linked words; the thicker a curve, the surer the link. " +
  "In the matrix a row is a target word, a column a source word, and a stronger cell a likelier link. " +
  "Point at a word, a curve or a cell to read why it is linked; click on a word to pin it.";

export function drawFirst() {
  const fold = byId("first");
  fold.lastElementChild.textContent = TOLD;
  try {
    fold.open = window.innerWidth > 1000 && localStorage.getItem(CLOSED) === null;
    fold.addEventListener("toggle", () =>
      fold.open ? localStorage.removeItem(CLOSED) : localStorage.setItem(CLOSED, "yes"),
    );
  } catch {
    fold.open = window.innerWidth > 1000; // a browser that keeps nothing
  }
  if (data.first) beginWith(...data.first);
}

function beginWith(n, s, t) {
  const pair = byNumber.get(`pair-${n}`);
  const p = pair.links.get(`${s}-${t}`);
  const words = `${quote(pair.shown.s[s])} – ${quote(pair.shown.t[t])}`;
  pair.told = `shown first: ${p === undefined ? `missing link ${words}` : `wrong link ${words}, ${share(p / 1000)}`}`;
  pairs.unshift(...pairs.splice(pairs.indexOf(pair), 1));
}

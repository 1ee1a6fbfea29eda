// The two sentences of a pair: what pointing, clicking and the keys do with their words.

import { html, state, svg } from "../page.js";
import { positions } from "./pairs.js";
import { acts, drawnLinks } from "../corrections/links.js";
import { focusWord, rowsOf, spread, wordAt, wordList } from "./words.js";
import { lightCell, lightWord, pin, unlight } from "./light.js";

function drawRowsOfWords(pair, view, wide) {
  const cuts = rowsOf(pair, wide);
  return cuts.slice(1).map(([s, t], k) => {
    const [first, other] = cuts[k];
    const source = s > first || !pair.S ? wordList(pair, "s", view, first, s) : null;
    const target = t > other || !pair.T ? wordList(pair, "t", view, other, t) : null;
    spread([source, target], [pair.s.slice(first, s), pair.t.slice(other, t)], wide, true);
    return html("div", { class: "row" }, source, target);
  });
}

export function drawSentences(pair, card, { layout, wide }, view) {
  const curves = svg("svg", { class: "curves", "aria-hidden": "true" });
  const across = layout !== "down";
  const about = { class: `sentences ${layout}`, "data-view": view };
  const lists = layout === "rows" ? [] : [wordList(pair, "s", view), wordList(pair, "t", view)];
  if (layout === "across") spread(lists, [pair.s, pair.t], wide);
  const box =
    layout === "rows"
      ? html("div", about, ...drawRowsOfWords(pair, view, wide), curves)
      : html("div", about, lists[0], curves, lists[1]);
  box.addEventListener("pointerover", (event) => overWord(pair, card, event.target));
  box.addEventListener("focusin", (event) => overWord(pair, card, event.target));
  box.addEventListener("click", (event) => {
    const word = event.target.closest(".token");
    const { link } = event.target.dataset;
    if (word && event.detail < 2 && chooseWord(pair, word, event)) return;
    if (link && !pair.editing) pin(pair, { s: positions(link)[0], t: positions(link)[1] });
    if (!word && !link && pair.pinned) pin(pair, null); // a click on the ground
    overWord(pair, card, event.target);
    if (event.detail === 3) window.getSelection().selectAllChildren(event.target.closest(".words") ?? box);
  });
  box.addEventListener("pointerleave", () => unlight(card));
  box.addEventListener("focusout", () => unlight(card));
  box.addEventListener("keydown", (event) => moveFocus(pair, box, event, across));
  return box;
}

function overWord(pair, card, node) {
  const link = node.dataset.link;
  const word = node.closest(".token");
  if (!link && !word) return unlight(card);
  if (link) return lightCell(pair, card, ...positions(link));
  const { side, at } = word.dataset;
  lightWord(pair, card, side, Number(at));
  word.setAttribute("aria-describedby", `headline-${pair.n} say-${pair.n}`);
}

// A selection within a pair is copied as sentences, a line each, without what the page says about their words.
export function copySentences(event) {
  const chosen = window.getSelection();
  const inside = chosen.rangeCount && chosen.getRangeAt(0).commonAncestorContainer;
  const box = inside && (inside.nodeType === 1 ? inside : inside.parentElement).closest(".sentences");
  if (!box) return;
  const lines = ["s", "t"].map((side) =>
    [...box.querySelectorAll(`.token[data-side="${side}"]`)]
      .filter((word) => chosen.containsNode(word, true))
      .map((word) => word.firstChild.data)
      .join(" "),
  );
  event.clipboardData.setData("text/plain", lines.filter(Boolean).join("\n"));
  event.preventDefault();
}

// Arrow keys walk along a sentence and cross to the linked word of the other one.
function moveFocus(pair, box, event, across) {
  const { side, at } = event.target.dataset;
  if (event.key === "Escape") {
    if (pair.editing && !pair.pinned) return pair.card.querySelector(".edit").click();
    pair.pinned = null;
    return unlight(pair.card);
  }
  if (side === undefined) return;
  if (event.key === "p" && pair.editing && pair.pinned?.made) {
    acts.togglePossible(pair, pair.pinned.made);
    return focusWord(pair.card.querySelector(".sentences"), side, Number(at));
  }
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return chooseWord(pair, event.target, event) || overWord(pair, box.closest(".pair"), event.target);
  }
  const i = Number(at);
  const along = across ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const turned = across && getComputedStyle(event.target.closest("ol")).direction === "rtl";
  let next = null;
  if (along.includes(event.key)) next = [side, i + (event.key === along[turned ? 0 : 1] ? 1 : -1)];
  else if (event.key === "Home" || event.key === "End") {
    next = [side, event.key === "Home" ? 0 : pair[side].length - 1];
  } else if (event.key.startsWith("Arrow")) {
    const key = drawnLinks(pair, box.dataset.view)
      .map((link) => link.key.split("-"))
      .find((link) => link[side === "s" ? 0 : 1] === at);
    const other = side === "s" ? "t" : "s";
    next = [other, key ? Number(key[side === "s" ? 1 : 0]) : Math.min(i, pair[other].length - 1)];
  }
  if (!next) return;
  event.preventDefault();
  if (wordAt(box, ...next)) focusWord(box, ...next);
}

// A word that is clicked is held; in a card that is edited further words may be, and a word of the other side is then
// linked with all of them.
function chooseWord(pair, word, event) {
  const { side, at } = word.dataset;
  const i = Number(at);
  const held = pair.pinned;
  if (!pair.editing || !held?.side) return pin(pair, { side, i });
  if (held.side === side) {
    const isFurther = event.shiftKey || event.ctrlKey || event.metaKey || (state.several && !held.made);
    return isFurther ? holdFurther(pair, held, i) : pin(pair, { side, i });
  }
  acts.toggleLinks(pair, [held.i, ...(held.others ?? [])].map((own) => (side === "s" ? [i, own] : [own, i])));
  focusWord(pair.card.querySelector(".sentences"), side, i);
  return true;
}

// Hold a further word, or let go one of several.
function holdFurther(pair, { side, i, others = [] }, added) {
  const words = [i, ...others];
  const left = words.includes(added) ? words.filter((one) => one !== added) : [...words, added];
  pin(pair, left.length ? { side, i: left[0], others: left.slice(1) } : null);
}

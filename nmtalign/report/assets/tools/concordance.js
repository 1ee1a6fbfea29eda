// The concordance in the pairs of the report: what a word, or words side by side, are linked to, and where. Words
// that differ in case only are one; "…" stands between words of a translation that do not stand side by side.

import { byId, counted, directionOf, html, lower, percent, root, unseen } from "../page.js";
import { OTHER, byNumber, directionOfSide, pairs, positions } from "../pairs/pairs.js";
import { query, wordsIn, writeAddress } from "./address.js";

const MOST_PLACES = 50; // shown at a time
const concordance = byId("concordance");

// The places of the words that are sought, each with the positions of its partners and these as a text.
function placesOfWords(side, wanted) {
  const found = [];
  const other = side === "s" ? "t" : "s";
  for (const pair of pairs) {
    pair.lowered ??= { s: lower(pair.s.join("\n")), t: lower(pair.t.join("\n")) };
    if (!pair.lowered[side].includes(wanted.join("\n"))) continue;
    const words = pair.lowered[side].split("\n");
    const others = pair.lowered[other].split("\n");
    for (let at = words.indexOf(wanted[0]); at >= 0; at = words.indexOf(wanted[0], at + 1)) {
      if (!wanted.every((word, k) => words[at + k] === word)) continue;
      const own = wanted.map((_, k) => at + k);
      const to = partners(pair, side, own);
      const unit = to
        .map((p, i) => (i && to[i - 1] !== p - 1 ? `… ${others[p]}` : others[p]))
        .join(" ");
      found.push({ pair, unit, [side]: own, [other]: to });
    }
  }
  return found;
}

function partners(pair, side, own) {
  const links = [...pair.links.keys()].map(positions);
  const k = side === "s" ? 0 : 1;
  return [...new Set(links.filter((link) => own.includes(link[k])).map((link) => link[1 - k]))].sort(
    (a, b) => a - b,
  );
}

function lookUp(side, words, from = null) {
  Object.assign(query, { side, words: words.map(lower), unit: null, from });
  drawConcordance();
}

// In a narrow window the translations of a word that is tapped are one line, which leaves the card to be read.
function foldTranslations(isFolded) {
  concordance.classList.toggle("folded", isFolded);
  const button = byId("concordance-fold");
  button.textContent = isFolded ? "Show" : "Hide";
  button.setAttribute("aria-expanded", String(!isFolded));
}

export function drawConcordance() {
  const places = placesOfWords(query.side, query.words);
  const counts = new Map();
  for (const { unit } of places) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  const units = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const chosen = query.unit === null ? places : places.filter(({ unit }) => unit === query.unit);
  byId("concordance-words").value = query.words.join(" ");
  byId("concordance-side").value = query.side;
  const some = `${counted(places.length, "occurrence")}, ${counted(units.length, "translation")}`;
  const narrowed = query.unit === null ? "" : `; ${chosen.length} with the one chosen`;
  byId("concordance-told").textContent = places.length ? some + narrowed : "These pairs do not have it.";
  const direction = directionOfSide(OTHER[query.side]);
  byId("concordance-units").replaceChildren(
    ...units.map(([unit, count], n) =>
      html("li", {}, unitButton(unit, direction, count, n, units[0][1], places.length)),
    ),
  );
  const rest = chosen.length - MOST_PLACES;
  byId("concordance-places").replaceChildren(
    ...chosen.slice(0, MOST_PLACES).map(placeItem),
    ...(rest > 0 ? [html("li", {}, `and ${rest} more`)] : []),
  );
  concordance.hidden = false;
  writeAddress();
}

function unitButton(unit, direction, count, n, most, all) {
  const button = html(
    "button",
    { type: "button", class: "unit", "aria-pressed": String(query.unit === unit) },
    html("span", { dir: unit ? directionOf(unit, direction) : null }, unit || "(no link)"),
    html("span", {}, `${count} · ${percent(count / all)}`),
  );
  button.style.setProperty("--part", (count / most).toFixed(3));
  button.addEventListener("click", () => {
    query.unit = query.unit === unit ? null : unit;
    drawConcordance();
    concordance.querySelectorAll(".unit")[n].focus();
  });
  return button;
}

function placeItem(place) {
  const number = html("a", { href: `#pair-${place.pair.n}` }, unseen("Pair "), `${place.pair.n}`);
  return html(
    "li",
    {},
    number,
    ...["s", "t"].map((side) =>
      html("p", { dir: place.pair.directions[side] }, ...inContext(place.pair[side], place[side])),
    ),
  );
}

// The words around those that are marked; the beginning of a sentence without any.
export function inContext(words, marked, around = 8) {
  const first = Math.max(0, (marked[0] ?? 0) - around);
  const last = Math.min(words.length, (marked.at(-1) ?? 0) + around + 1);
  const shown = words
    .slice(first, last)
    .flatMap((word, i) => [marked.includes(first + i) ? html("mark", {}, word) : word, " "]);
  return [first ? "… " : "", ...shown, last < words.length ? "…" : ""];
}

// A word that is clicked; with Shift the words from the one before to it.
function lookUpToken(token, extend) {
  const pair = byNumber.get(token.closest(".pair").id);
  const { side } = token.dataset;
  const at = Number(token.dataset.at);
  const { from } = query;
  const joined = extend && from?.pair === pair && query.side === side && !concordance.hidden;
  const ends = joined ? [Math.min(from.at, at), Math.max(from.at, at)] : [at, at];
  if (extend) window.getSelection().removeAllRanges();
  if (concordance.hidden) foldTranslations(true);
  lookUp(side, pair[side].slice(ends[0], ends[1] + 1), joined ? from : { pair, at });
}

// A word that a change has taken out of the page was in a card that is edited.
const isEdited = (token) => byNumber.get(token.closest(".pair")?.id)?.editing ?? true;

function closeConcordance() {
  concordance.hidden = true;
  query.words = [];
  writeAddress();
}

export function makeConcordance() {
  if (root.dataset.kind === "cards") return;
  const close = html("button", { type: "button", "aria-label": "Close" }, "×");
  const folding = html("button", { type: "button", id: "concordance-fold", "aria-expanded": "true" }, "Hide");
  folding.addEventListener("click", () => foldTranslations(!concordance.classList.contains("folded")));
  const input = html("input", {
    id: "concordance-words",
    type: "search",
    autocomplete: "off",
    spellcheck: "false",
    dir: "auto",
    "aria-label": "Words to translate, side by side",
  });
  const side = html(
    "select",
    { id: "concordance-side", "aria-label": "Side of these words" },
    html("option", { value: "s" }, "source"),
    html("option", { value: "t" }, "target"),
  );
  const head = html("h2", { id: "concordance-head" }, "Translations");
  const told = html("p", { id: "concordance-told", role: "status" });
  concordance.append(
    html("header", {}, head, folding, close),
    html("div", { class: "asked" }, input, side),
    told,
    html("ul", {
      id: "concordance-units",
      "aria-label": "Translations; one that is pressed chooses the lines",
    }),
    html("ol", { id: "concordance-places", "aria-label": "Lines" }),
  );
  const typed = () => lookUp(side.value, wordsIn(input.value));
  input.addEventListener("change", typed);
  side.addEventListener("change", typed);
  close.addEventListener("click", closeConcordance);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeConcordance();
    if (event.key === "Enter" && event.target.matches(".token") && !isEdited(event.target)) {
      lookUpToken(event.target, event.shiftKey);
    }
  });
  document.addEventListener("click", (event) => {
    const token = event.target.closest(".sentences .token");
    const word = event.target.closest("#lexicon .lookup");
    if (word) {
      foldTranslations(false);
      lookUp(word.dataset.of, [word.textContent]);
    } else if (
      token &&
      !isEdited(token) &&
      event.detail < 2 &&
      (event.shiftKey || window.getSelection().isCollapsed)
    ) {
      lookUpToken(token, event.shiftKey);
    }
  });
}

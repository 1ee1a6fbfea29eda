// Translation spotting in the pairs of the report: what a word, or words side by side, are linked to, and where. Words
// that differ in case only are one; "…" stands between words of a translation that do not stand side by side.

const MOST_PLACES = 50; // shown at a time
const spotting = byId("spotting"), spotted = { side: "s", words: [], unit: null, from: null };
const lower = (word) => word.normalize("NFC").toLowerCase();
const wordsIn = (text) => text.split(/\s+/).filter(Boolean).map(lower);
const unseen = (text) => html("span", { class: "unseen" }, text);

// The places of the words that are sought, each with the positions of its partners and these as a text.
function placesOfWords(side, wanted) {
  const found = [], other = side === "s" ? "t" : "s";
  for (const pair of pairs) {
    pair.forms ??= { s: pair.s.map(lower), t: pair.t.map(lower) };
    const words = pair.forms[side];
    for (let at = words.indexOf(wanted[0]); at >= 0; at = words.indexOf(wanted[0], at + 1)) {
      if (!wanted.every((word, k) => words[at + k] === word)) continue;
      const own = wanted.map((_, k) => at + k), to = partners(pair, side, own);
      const unit = to.map((p, i) => (i && to[i - 1] !== p - 1 ? `… ${pair.forms[other][p]}` : pair.forms[other][p])).join(" ");
      found.push({ pair, unit, [side]: own, [other]: to });
    }
  }
  return found;
}

function partners(pair, side, own) {
  const links = [...pair.links.keys()].map(positions), k = side === "s" ? 0 : 1;
  return [...new Set(links.filter((link) => own.includes(link[k])).map((link) => link[1 - k]))].sort((a, b) => a - b);
}

function spot(side, words, from = null) {
  Object.assign(spotted, { side, words: words.map(lower), unit: null, from });
  drawSpotting();
}

function drawSpotting() {
  const places = placesOfWords(spotted.side, spotted.words), counts = new Map();
  for (const { unit } of places) counts.set(unit, (counts.get(unit) ?? 0) + 1);
  const units = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const chosen = spotted.unit === null ? places : places.filter(({ unit }) => unit === spotted.unit);
  byId("spot-words").value = spotted.words.join(" ");
  byId("spot-side").value = spotted.side;
  byId("spot-told").textContent = places.length ? `${places.length} place${places.length === 1 ? "" : "s"}, ${units.length} translation${units.length === 1 ? "" : "s"}${spotted.unit === null ? "" : `; ${chosen.length} with the one chosen`}` : "These pairs do not have it.";
  byId("spot-units").replaceChildren(...units.map(([unit, count], n) => html("li", {}, unitButton(unit, count, n, units[0][1], places.length))));
  const rest = chosen.length - MOST_PLACES;
  byId("spot-places").replaceChildren(...chosen.slice(0, MOST_PLACES).map(placeItem), ...(rest > 0 ? [html("li", {}, `and ${rest} more`)] : []));
  spotting.hidden = false;
  writeAddress();
}

// The words that the address names, which goTo draws if they are others.
function readSpotted(params) {
  const side = ["s", "t"].find((one) => params.has(`spot-${one}`)), words = wordsIn(params.get(`spot-${side}`) ?? "");
  if (root.dataset.kind === "cards" || !words.length || (side === spotted.side && words.join(" ") === spotted.words.join(" "))) return;
  Object.assign(spotted, { side, words, unit: null, from: null });
  spotting.hidden = true;
}

function unitButton(unit, count, n, most, all) {
  const button = html("button", { type: "button", class: "unit", "aria-pressed": String(spotted.unit === unit) }, html("span", { dir: "auto" }, unit || "(no link)"), html("span", {}, `${count} · ${percent(count / all)}`));
  button.style.setProperty("--part", (count / most).toFixed(3));
  button.addEventListener("click", () => {
    spotted.unit = spotted.unit === unit ? null : unit;
    drawSpotting();
    spotting.querySelectorAll(".unit")[n].focus();
  });
  return button;
}

function placeItem(place) {
  const number = html("a", { href: `#pair-${place.pair.n}` }, unseen("Pair "), `${place.pair.n}`);
  return html("li", {}, number, ...["s", "t"].map((side) => html("p", { dir: "auto" }, ...inContext(place.pair[side], place[side]))));
}

// The words around those that are marked; the beginning of a sentence without any.
function inContext(words, marked, around = 8) {
  const first = Math.max(0, (marked[0] ?? 0) - around), last = Math.min(words.length, (marked.at(-1) ?? 0) + around + 1);
  const shown = words.slice(first, last).flatMap((word, i) => [marked.includes(first + i) ? html("mark", {}, word) : word, " "]);
  return [first ? "… " : "", ...shown, last < words.length ? "…" : ""];
}

// A word that is clicked; with Shift the words from the one before to it.
function spotWord(token, extend) {
  const pair = byNumber.get(token.closest(".pair").id), { side } = token.dataset, at = Number(token.dataset.at), { from } = spotted;
  const joined = extend && from?.pair === pair && spotted.side === side && !spotting.hidden;
  const ends = joined ? [Math.min(from.at, at), Math.max(from.at, at)] : [at, at];
  if (extend) window.getSelection().removeAllRanges();
  spot(side, pair[side].slice(ends[0], ends[1] + 1), joined ? from : { pair, at });
}

function closeSpotting() {
  spotting.hidden = true;
  spotted.words = [];
  writeAddress();
}

function makeSpotting() {
  if (root.dataset.kind === "cards") return;
  const close = html("button", { type: "button", "aria-label": "Close" }, "×");
  const input = html("input", { id: "spot-words", type: "search", autocomplete: "off", spellcheck: "false", dir: "auto", "aria-label": "Words to translate, side by side" });
  const side = html("select", { id: "spot-side", "aria-label": "Side of these words" }, html("option", { value: "s" }, "source"), html("option", { value: "t" }, "target"));
  const head = html("h2", { id: "spot-head" }, "Translations"), told = html("p", { id: "spot-told", role: "status" });
  spotting.append(html("header", {}, head, close), html("div", { class: "asked" }, input, side), told, html("ul", { id: "spot-units", "aria-label": "Translations; one that is pressed chooses the lines" }), html("ol", { id: "spot-places", "aria-label": "Lines" }));
  const typed = () => spot(side.value, wordsIn(input.value));
  input.addEventListener("change", typed);
  side.addEventListener("change", typed);
  close.addEventListener("click", closeSpotting);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeSpotting();
    if (event.key === "Enter" && event.target.matches(".token") && !state.edit) spotWord(event.target, event.shiftKey);
  });
  document.addEventListener("click", (event) => {
    const token = event.target.closest(".sentences .token"), word = event.target.closest("#lexicon .spot");
    if (word) spot(word.dataset.of, [word.textContent]);
    else if (token && !state.edit && event.detail < 2 && (event.shiftKey || window.getSelection().isCollapsed)) spotWord(token, event.shiftKey);
  });
}

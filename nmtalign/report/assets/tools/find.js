// Searching: in both sentences or one, whole words or parts, without accents; kept in the address of the page.

const SIDES = { both: ["s", "t"], source: ["s"], target: ["t"] };
const LETTERS = { ß: "ss", ø: "o", ł: "l", đ: "d", œ: "oe", æ: "ae", ı: "i", ς: "σ", "’": "'" };
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u064b-\u0652]/g; // accents, points of Hebrew and Arabic
const fold = (text) => text.toLowerCase().normalize("NFD").replace(MARKS, "").replace(/[ßøłđœæıς’]/g, (letter) => LETTERS[letter]);

// The positions of each side that hold a word of the query; null if one of these is nowhere.
function search(pair, query) {
  pair.folded ??= { s: pair.s.map(fold), t: pair.t.map(fold) };
  const found = { s: new Set(), t: new Set() };
  for (const wanted of query) {
    let seen = false;
    for (const side of SIDES[state.in]) pair.folded[side].forEach((word, at) => {
      if (state.whole ? word === wanted : word.includes(wanted)) { found[side].add(at); seen = true; }
    });
    if (!seen) return null;
  }
  return found;
}

function markFound(pair) {
  for (const token of pair.card.querySelectorAll(".token")) token.classList.toggle("found", pair.found[token.dataset.side].has(Number(token.dataset.at)));
}

function find() {
  const query = fold(state.find).split(/\s+/).filter(Boolean);
  let count = 0;
  for (const pair of pairs) {
    const found = search(pair, query), shown = found !== null && (!state.only || differs(pair));
    pair.found = found ?? { s: new Set(), t: new Set() };
    pair.card.hidden = pair.tr.hidden = !shown;
    if (pair.drawn) markFound(pair);
    count += Number(shown);
  }
  byId("found").textContent = count === pairs.length ? `${count} pair${count === 1 ? "" : "s"}` : count ? `${count} of ${pairs.length} pairs` : "No pair is found";
  tellNothing(pairs.length && !count);
  writeAddress();
  markCurrent();
}

function tellNothing(nothing) {
  const where = { both: "", source: " in its source sentence", target: " in its target sentence" }[state.in];
  const what = state.find.trim() ? ` that has ${quote(state.find.trim())}${state.whole ? " as a whole word" : ""}${where}` : "";
  const again = html("button", { type: "button" }, "Show all pairs");
  again.addEventListener("click", showAll);
  byId("nothing").hidden = !nothing;
  byId("nothing").replaceChildren(`There is no pair${what}${state.only ? ", among the pairs that differ" : ""}. `, again);
}

function showAll() {
  Object.assign(state, { find: "", only: false });
  showFinder();
  find();
}

// ---- the controls, and the address ---------------------------------------------------------------------

function drawFinder() {
  byId("scope").append(choice("in", "in", Object.keys(SIDES).map((side) => [side, side === "both" ? "both sentences" : side])), tick("whole words", "whole"));
  let typing = 0;
  byId("search").addEventListener("input", (event) => { clearTimeout(typing); typing = setTimeout(() => { state.find = event.target.value; find(); }, 120); });
}

function showFinder() {
  byId("search").value = state.find;
  for (const box of document.querySelectorAll("[data-key]")) if (box.type === "checkbox") box.checked = state[box.dataset.key]; else if (box.matches("select")) box.value = state[box.dataset.key];
}

// The address after #: a part of the page, then what is searched for, as in #pair-17&find=chat&in=target&spot-t=chat
const anchor = () => window.location.hash.slice(1).split("&").find((part) => !part.includes("=")) ?? "";

function writeAddress() {
  const params = new URLSearchParams();
  if (state.find) params.set("find", state.find);
  if (state.in !== "both") params.set("in", state.in);
  for (const key of ["whole", "only"]) if (state[key]) params.set(key, "1");
  if (spotted.words.length) params.set(`spot-${spotted.side}`, spotted.words.join(" "));
  const wanted = [anchor(), params.toString()].filter(Boolean).join("&");
  if (wanted !== window.location.hash.slice(1)) window.history.replaceState(null, "", `${window.location.href.split("#")[0]}${wanted ? `#${wanted}` : ""}`);
}

function readAddress() {
  const params = new URLSearchParams(window.location.hash.slice(1));
  readSpotted(params);
  if (!["find", "in", "whole", "only"].some((key) => params.has(key))) return false;
  Object.assign(state, { find: params.get("find") ?? "", in: Object.hasOwn(SIDES, params.get("in") ?? "") ? params.get("in") : "both", whole: params.has("whole"), only: params.has("only") });
  showFinder();
  return true;
}

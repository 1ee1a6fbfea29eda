// Correcting links: two words, or a cell, go none, sure, possible. What is corrected stays in this browser, and is
// downloaded as gold links, one line for each pair of the text: of all pairs with gold, or of the corrected alone.

const KEPT = `nmtalign-gold-${data.id}`;
const corrected = new Map(), steps = []; // number of a pair -> its links; [pair, its links before]
let keeps = true, stored = null, behind = false; // whether the browser keeps anything; what this tab last read or wrote; whether another tab wrote since

function goldOf(pair) {
  pair.start ??= pair.gold ?? new Map([...pair.links.keys()].map((key) => [key, 1]));
  return corrected.get(pair.n) ?? pair.start;
}

function correct(pair, links) {
  steps.push([pair, corrected.get(pair.n)]);
  setCorrected(pair, links);
}
function setCorrected(pair, links) {
  if (links) corrected.set(pair.n, links); else corrected.delete(pair.n);
  keep();
  showEditor();
  if (pair.drawn) draw(pair);
}

const NEXT = new Map([[undefined, 1], [1, 0], [0, undefined]]);
function setLink(pair, s, t, kind, focusAgain) {
  const links = new Map(goldOf(pair)), key = `${s}-${t}`;
  if (kind === undefined) links.delete(key); else links.set(key, kind);
  correct(pair, links);
  focusAgain();
  hideTip();
  byId("live").textContent = `${quote(pair.s[s])} – ${quote(pair.t[t])}: ${["possible", "sure"][kind] ?? "no link"}`;
}

// A cell that is clicked, or on which a key is pressed; whether it was for the editor.
const KEYS_OF_LINKS = { s: 1, p: 0, Delete: undefined, Backspace: undefined, n: undefined };
function chooseCell(pair, s, t, key, picture) {
  const next = key === null || key === "Enter" || key === " ";
  if (!state.edit || !(next || key in KEYS_OF_LINKS)) return false;
  const pictures = () => [...pair.card.querySelectorAll(".matrix svg[tabindex]")], which = pictures().indexOf(picture), focused = picture.matches(":focus");
  const kind = next ? NEXT.get(goldOf(pair).get(`${s}-${t}`)) : KEYS_OF_LINKS[key];
  setLink(pair, s, t, kind, () => { if (focused) pictures()[which].focus(); });
  return true;
}

// A word that is clicked is held; in the editor a word of the other side is then linked with it.
function chooseWord(pair, word) {
  const { side, at } = word.dataset, i = Number(at), held = pair.pinned;
  if (!state.edit || !held || held.side === side) { pin(pair, side, i); return false; }
  const [s, t] = side === "s" ? [i, held.i] : [held.i, i], view = word.closest(".sentences").dataset.view;
  setLink(pair, s, t, NEXT.get(goldOf(pair).get(`${s}-${t}`)), () => {
    focusWord([...pair.card.querySelectorAll(".sentences")].find((box) => box.dataset.view === view), side, i);
  });
  return true;
}

// ---- the tools -------------------------------------------------------------------------------------------

function makeEditor() {
  const tool = (name, act) => { const button = html("button", { type: "button" }, name); button.addEventListener("click", act); return button; };
  byId("editor").append(tool("Next least certain", nextPair), tool("Least certain first", leastCertainFirst), tool("Undo", undo), tool("Download gold", () => download("gold", goldLines(inherited))), tool("Download corrected", () => download("corrected", goldLines(() => ""))), html("span", { role: "status" }));
  document.addEventListener("keydown", (event) => { if (state.edit && event.key === "z" && (event.ctrlKey || event.metaKey) && !event.target.matches("input")) { event.preventDefault(); undo(); } });
  window.addEventListener("storage", () => { noteOtherTabs(); showEditor(); });
  restore();
}

function showEditor() {
  byId("editor").hidden = !state.edit;
  root.toggleAttribute("data-edit", state.edit);
  for (const pair of pairs) if (pair.check) pair.check.checked = corrected.has(pair.n);
  const kept = behind ? "but another tab of this page has corrected since: this tab is behind and keeps nothing. Download what it has, or reload it" : keeps ? "kept in this browser" : "which this browser does not keep: download before you leave";
  const status = byId("editor").querySelector("span");
  status.textContent = `${corrected.size} of ${pairs.length} pairs corrected, ${kept}`;
  status.classList.toggle("behind", behind);
}

// A pair without an error is corrected, too, once somebody has looked.
function editorOf(pair) {
  pair.check = html("input", { type: "checkbox" });
  pair.check.addEventListener("change", () => correct(pair, pair.check.checked ? goldOf(pair) : undefined));
  return [html("label", { class: "check" }, pair.check, "corrected")];
}

function undo() {
  const [pair, links] = steps.pop() ?? [];
  if (!pair) return;
  setCorrected(pair, links);
  byId("live").textContent = `Pair ${pair.n} is as it was`;
  settle(pair.card);
}

const byDoubt = () => [...pairs].sort((a, b) => doubt(b) - doubt(a) || a.n - b.n);
function nextPair() {
  const next = byDoubt().find((pair) => !corrected.has(pair.n) && !pair.card.hidden);
  if (next) window.location.hash = `pair-${next.n}`; else byId("live").textContent = "All pairs are corrected";
}
function leastCertainFirst() {
  const rows = byId("index").querySelector("tbody");
  for (const head of byId("index").querySelectorAll("th")) head.removeAttribute("aria-sort");
  sortPairs(() => { pairs.splice(0, pairs.length, ...byDoubt()); rows.append(...pairs.map((pair) => pair.tr)); });
}

// ---- what is kept, and what is downloaded ------------------------------------------------------------------

function noteOtherTabs() {
  try { behind ||= localStorage.getItem(KEPT) !== stored; } catch { keeps = false; }
}
// A tab that is behind writes nothing: what the other one has corrected would be lost.
function keep() {
  noteOtherTabs();
  if (behind) return;
  const text = JSON.stringify([...corrected].map(([n, links]) => [n, [...links]]));
  try { localStorage.setItem(KEPT, text); stored = text; keeps = true; } catch { keeps = false; }
}
function restore() {
  try {
    stored = localStorage.getItem(KEPT);
    for (const [n, links] of JSON.parse(stored ?? "[]")) {
      const pair = byNumber.get(`pair-${n}`), inside = (key) => { const [s, t] = positions(key); return s < pair.S && t < pair.T; };
      if (links.every(([key, sure]) => /^\d+-\d+$/.test(key) && inside(key) && (sure === 0 || sure === 1))) corrected.set(pair.n, new Map(links));
    }
  } catch { keeps = false; } // forbidden, or none of ours
}

function lineOf(links) {
  const inOrder = ([a], [b]) => { const [s, t] = positions(a), [x, y] = positions(b); return s - x || t - y; };
  return [...links].sort(inOrder).map(([key, sure]) => (sure ? key : key.replace("-", "p"))).join(" ");
}
// The gold that the report was made with, also of pairs that it does not show.
const inherited = (n) => data.rest[n] ?? lineOf(byNumber.get(`pair-${n}`)?.gold ?? []);
// Line n is that of pair n of the text: as it was corrected, else what `others` has.
function goldLines(others) {
  const numbers = Array.from({ length: data.lines }, (_, i) => i + 1);
  return numbers.map((n) => `${corrected.has(n) ? lineOf(corrected.get(n)) : others(n)}\n`);
}
function download(name, lines) {
  const address = URL.createObjectURL(new Blob(lines, { type: "text/plain" }));
  html("a", { href: address, download: `${name}.pharaoh` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  const filled = lines.filter((line) => line !== "\n").length, own = [...corrected.values()].filter(({ size }) => size).length;
  byId("live").textContent = `${name}.pharaoh: links of ${filled} pairs, ${own} of them corrected`;
}

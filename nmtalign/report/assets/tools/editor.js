// Correcting links. What is corrected stays in this browser, pair by pair, so that any report of the same text finds
// it. It is downloaded as corrections, which are opened again, or as gold links, a line for each pair of the text.
// After a correction all that counts errors is counted anew, or says that it is as reported.

import { byId, data, html, root, state } from "../page.js";
import { byNumber, pairs } from "../pairs/pairs.js";
import {
  catchUp, correct, goBack, newer, notShown, reviewedPairs, say, setReviewed, who,
} from "../corrections/corrections.js";
import { browser, readKept, store, stored } from "../corrections/kept.js";
import { downloadCorrections, downloadGold } from "../corrections/downloads.js";
import { fromRecord } from "../corrections/records.js";
import { tellProgress } from "../corrections/panel.js";
import { draw } from "../pairs/cards.js";
import { bring, openCard, shownPairs } from "../list.js";
import { recountErrors } from "./errors.js";
import { doubt, recountRows, sortPairs } from "./index.js";
import { tellTotals } from "./summary.js";

const NAME = "nmtalign-name";
let telling = null; // when some corrections, one after the other, are told of once

export function makeEditor() {
  const tool = (name, act) => {
    const button = html("button", { type: "button" }, name);
    button.addEventListener("click", act);
    return button;
  };
  const file = html("input", { type: "file", accept: ".jsonl", "aria-label": "Corrections to open", hidden: "" });
  const name = html("input", { "aria-label": "Who corrects", placeholder: "Your name", size: 10 });
  file.addEventListener("change", () => openFile(file));
  name.addEventListener("change", () => {
    who.name = name.value;
    store(NAME, who.name);
  });
  const tools = html(
    "div",
    { class: "toolbar" },
    name,
    tool("Next unreviewed", () => nextPair(null)),
    tool("Least certain first", leastCertainFirst),
    tool("Undo", () => goStep(true)),
    tool("Redo", () => goStep(false)),
    tool("Download corrections", () => say(downloadCorrections())),
    tool("Open corrections", () => file.click()),
    file,
    tool("Download gold", () => say(downloadGold())),
    html("span", { id: "said" }),
  );
  byId("editor").append(tools);
  document.addEventListener("keydown", (event) => {
    const back = { z: !event.shiftKey, Z: false, y: false }[event.key];
    if (back === undefined || !pairs.some(({ editing }) => editing) || event.target.matches("input")) return;
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    goStep(back);
  });
  document.addEventListener("next", ({ detail }) => nextPair(detail.pair));
  document.addEventListener("corrected", ({ detail: { pair, isNote } }) => {
    if (pair?.card && !isNote) keepInPlace(pair, () => redrawCard(pair));
    telling ??= Promise.resolve().then(() => {
      telling = null;
      keepInPlace(pair, () => {
        tellCount();
        recountRows();
        recountErrors();
        tellTotals();
      });
    });
  });
  if (root.dataset.kind !== "cards") {
    window.addEventListener("storage", ({ key }) => catchUp(key));
    window.addEventListener("pageshow", () => catchUp()); // a page that was left and is come back to hears of nothing
    restore();
  }
  name.value = who.name;
  tellCount();
}

// Change the page, but not where the words of a card are: they may be under the pointer.
function keepInPlace(pair, change) {
  const place = () => pair?.card?.querySelector(".sentences").getBoundingClientRect().top ?? 0;
  const before = place();
  change();
  window.scrollBy(0, place() - before);
}

function goStep(back) {
  const [first] = goBack(back).map((n) => byNumber.get(`pair-${n}`));
  if (first) bring(first);
}

// Draw a card that was changed; the focus stays at what was pressed.
function redrawCard(pair) {
  const pressed = document.activeElement.closest(".panel button")?.className;
  draw(pair);
  if (pressed) (pair.card.querySelector(`.panel .${pressed}:enabled`) ?? pair.card.querySelector(".edit")).focus();
}

function tellCount() {
  const others = notShown() ? `, ${notShown()} others of this text` : "";
  const kept = browser.keeps ? "kept in this browser" : "which this browser does not keep: download before you leave";
  const told = byId("editor").querySelector("summary span");
  tellProgress(told);
  if (reviewedPairs().length || !browser.keeps) told.textContent += `${others}, ${kept}`;
  for (const progress of document.querySelectorAll(".panel .progress")) tellProgress(progress);
}

function byDoubt() {
  const doubts = new Map(pairs.map((pair) => [pair, doubt(pair)]));
  return [...pairs].sort((a, b) => doubts.get(b) - doubts.get(a) || a.n - b.n);
}

// Edit the next pair of the list that nobody has looked at; `from` is then done.
export function nextPair(from) {
  const shown = shownPairs();
  const at = shown.indexOf(from) + 1;
  const next = [...shown.slice(at), ...shown.slice(0, at)].find((pair) => !pair.reviewed && pair !== from);
  if (!next) return say("All pairs of the list are reviewed");
  if (from?.editing) from.card.querySelector(".edit").click();
  openCard(next);
  if (!next.editing) edit(next);
}

// Begin to edit a pair at its first word, or end it.
export function edit(pair) {
  pair.card.querySelector(".edit").click();
  if (pair.editing) pair.card.querySelector(".token")?.focus({ preventScroll: true });
}

function leastCertainFirst() {
  for (const head of byId("index").querySelectorAll("th")) head.removeAttribute("aria-sort");
  sortPairs(() => byDoubt().forEach((pair, i) => (pairs[i] = pair)));
}

// What was corrected before: in the file that the report was made with, and in this browser, if that is not older.
function restore() {
  const known = new Map(data.corrections.map(fromRecord).filter(Boolean));
  for (const pair of pairs) pair.isOfFile = known.has(pair.n);
  for (const { n, at, correction } of readKept()) {
    if (at <= (known.get(n)?.at ?? "")) continue;
    if (correction) known.set(n, correction);
    else known.delete(n);
  }
  for (const [n, correction] of known) setReviewed(n, correction, { mine: false });
  who.name = stored(NAME) ?? "";
  if (known.size) tellFound([...known.values()].map(({ at, by }) => [at, by]));
}

function tellNotice(text) {
  byId("kept").hidden = false;
  byId("kept").textContent = text;
}

function tellFound(found) {
  const [at, by] = found.sort().at(-1);
  const last = `the last ${at.slice(0, 10)}${by ? ` by ${by}` : ""}`;
  const before = `${found.length} pair${found.length === 1 ? " was" : "s were"} reviewed before, ${last}`;
  const hidden = notShown();
  const gold = data.corrections.length ? "Your corrections now serve as gold for these pairs. " : "";
  const told = `${gold}“Edit” on a card continues.`;
  if (hidden === found.length) {
    return tellNotice(`${before}: none of them is shown here. “Corrections” downloads what was corrected.`);
  }
  const of = hidden ? ` ${hidden} of them ${hidden === 1 ? "is" : "are"} not shown here.` : "";
  tellNotice(`${before}. ${told}${of}`);
  if (gold && !data.gold) state.compare = "gold";
}

async function openFile(file) {
  const lines = (await file.files[0].text()).split("\n").filter((line) => line.trim());
  file.value = "";
  const records = lines.map((line) => {
    try {
      return JSON.parse(line);
    } catch {
      return null;
    }
  });
  catchUp();
  const { taken, foreign, older } = newer(records);
  if (taken.length) correct(taken);
  const parts = [`${taken.length} of ${records.length} corrections taken`];
  if (older) parts.push(`${older} not newer than what is here`);
  if (foreign) parts.push(`${foreign} skipped: not a correction, or of a different text`);
  byId("live").textContent = `${parts.join("; ")}.`;
  tellNotice(`${parts.join("; ")}.`);
}

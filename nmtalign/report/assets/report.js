// What begins when all modules are read.

import { bar, barHeight, byId, data, list, measureRoom, room, root, settle, wideWindow } from "./page.js";
import { byNumber } from "./pairs/pairs.js";
import { copySentences } from "./pairs/sentences.js";
import { showPinned } from "./pairs/light.js";
import {
  bring, clear, goToEnd, openCard, pairAt, redraw, render, seek, shownPairs, tellPrinted,
} from "./list.js";
import { anchor, query, readAddress, readPin, readTheme, writeAddress } from "./tools/address.js";
import { drawKey, makeToolbar } from "./tools/toolbar.js";
import { drawLexicon, drawSummary, drawSystems, tellTotals } from "./tools/summary.js";
import { drawIndex, markCurrent } from "./tools/index.js";
import { drawFinder, find, showAll, showFinder } from "./tools/find.js";
import { drawConcordance, makeConcordance } from "./tools/concordance.js";
import { drawErrors } from "./tools/errors.js";
import { drawFirst } from "./tools/first.js";
import { edit, makeEditor, nextPair } from "./tools/editor.js";
import { listKeys } from "./tools/keys.js";

function chooseTheme() {
  const order = ["auto", "light", "dark"];
  const button = byId("theme");
  const asked = readTheme();
  if (asked) {
    root.dataset.theme = asked;
    button.textContent = `Theme: ${asked}`;
  }
  button.addEventListener("click", () => {
    const next = order[(order.indexOf(root.dataset.theme ?? "auto") + 1) % 3];
    if (next === "auto") delete root.dataset.theme;
    else root.dataset.theme = next;
    button.textContent = `Theme: ${next}`;
  });
}

function goTo() {
  if (readAddress()) {
    showFinder();
    find();
  }
  if (byId("concordance").hidden && query.words.length) drawConcordance();
  const name = anchor();
  const pair = byNumber.get(name);
  const part = document.getElementById(name);
  if (!pair) {
    if (part?.matches("details")) part.open = true;
    return settle(part);
  }
  if (!shownPairs().includes(pair)) showAll();
  const pinned = readPin(pair);
  if (pinned) pair.pinned = pinned;
  writeAddress();
  seek(pair);
  bring(pair);
  if (pinned) showPinned(pair);
}

// Narrow windows begin with the tools folded, so that the first pair can be seen.
function foldTools() {
  const set = () => {
    for (const fold of document.querySelectorAll(".fold")) fold.open = wideWindow.matches;
  };
  wideWindow.addEventListener("change", set);
  set();
  bar.open = wideWindow.matches && data.others.length > 0; // to choose what is compared
}

const FEW_ON_PAPER = 20;
let readBefore = () => {}; // goes back to what was read before the page was printed

function layOutForPaper() {
  const y = barHeight() + 40;
  const pair = shownPairs().length ? pairAt(y) : null;
  const top = pair?.card?.getBoundingClientRect().top;
  const wasOpen = bar.open;
  readBefore = () => {
    bar.open = wasOpen;
    if (top !== undefined && top < y) bring(pair, top);
  };
  root.dataset.paper = shownPairs().length > FEW_ON_PAPER ? "many" : "few";
  bar.open = true;
  measureRoom();
  tellPrinted();
  redraw(drawKey);
}

// Only the cards near the window are drawn again, not all that were printed.
function layOutForScreen() {
  delete root.dataset.paper;
  measureRoom();
  clear();
  tellPrinted();
  redraw(drawKey);
  readBefore();
}

let scrolled = 0;

function followScrolling() {
  scrolled ||= requestAnimationFrame(() => {
    scrolled = 0;
    render();
    markCurrent();
  });
}

// The browser goes to the end of the space that the cards may take, which is not yet that of the cards.
function goToEnds(event) {
  const down = event.key === "End";
  const own = event.target.closest("input, textarea, select, .token, svg, .scroll");
  if (!(down || event.key === "Home") || own || event.ctrlKey || event.altKey || event.shiftKey) return;
  event.preventDefault();
  goToEnd(down);
}

// "/" goes to the search, "j" and "k" to the pairs after and before the one that is read; "e" edits it, "n" the next
// one that is not reviewed.
function followKeys(event) {
  if (event.target.closest("input, textarea, select, .matrix svg")) return;
  if (event.ctrlKey || event.altKey || event.metaKey || root.dataset.kind === "cards") return;
  if (event.key === "/") {
    event.preventDefault();
    byId("search").closest("details").open = true;
    byId("search").focus();
  }
  const step = { j: 1, k: -1, e: 0, n: 0 }[event.key];
  const shown = shownPairs();
  if (step === undefined || !shown.length) return;
  const y = barHeight() + 40;
  if (event.key === "e") return edit(pairAt(y));
  if (event.key === "n") return nextPair(pairAt(y));
  const above = shown.indexOf(pairAt(y));
  const begun = list.getBoundingClientRect().top < y;
  const next = shown[begun ? above + step : 0];
  if (next) openCard(next);
}

readAddress();
chooseTheme();
drawSystems();
drawSummary();
drawFirst();
makeEditor();
makeToolbar();
drawKey();
drawFinder();
showFinder();
foldTools();
measureRoom();
drawIndex();
find();
drawLexicon();
makeConcordance();
drawErrors();
tellTotals();

new ResizeObserver(() => root.style.setProperty("--bar-height", `${barHeight()}px`)).observe(bar);
new ResizeObserver(() => {
  const before = room;
  measureRoom();
  if (Math.abs(room - before) > 8) redraw();
}).observe(list);
document.addEventListener("copy", copySentences);
document.addEventListener("chosen", () => {
  redraw(() => {
    drawKey();
  });
  showFinder();
  find();
});
document.addEventListener("sorted", find);
document.addEventListener("keydown", goToEnds);
document.addEventListener("keydown", followKeys);
listKeys();
window.addEventListener("hashchange", goTo);
window.addEventListener("scroll", followScrolling, { passive: true });
window.addEventListener("resize", followScrolling);
window.addEventListener("beforeprint", layOutForPaper);
window.addEventListener("afterprint", layOutForScreen);
goTo();
root.dataset.ready = "";

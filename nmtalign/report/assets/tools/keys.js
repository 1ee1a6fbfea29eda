// The keys of the page, which "?" lists.

import { html, root } from "../page.js";

const KEYS_OF_CARDS = [
  ["← → ↑ ↓", "from word to word, to the linked word of the other sentence, or from cell to cell"],
  ["Enter", "pin the explanation of a word or a cell; again releases it"],
  ["Esc", "release what is pinned"],
  ["?", "these keys"],
];
const KEYS_OF_REPORTS = [
  ["/", "search"],
  ["j, k", "the next pair, the pair before"],
  ["Home, End", "the first pair and the last one, or word of a sentence"],
  ["↑ ↓, Enter", "in the list: from pair to pair, to the card of a pair"],
  ["Shift Enter", "look up the words from the one before to this one"],
  ["e, n", "edit the pair that is read, or end it; edit the next one that is not reviewed"],
  ["s, p, n", "while a pair is edited, in the matrix: sure, possible, no link; p also for the last link made"],
  ["Ctrl Z, Ctrl Y", "while a pair is edited: undo, redo"],
];

let dialog = null;

function makeDialog() {
  const known = root.dataset.kind === "report" ? [...KEYS_OF_CARDS, ...KEYS_OF_REPORTS] : KEYS_OF_CARDS;
  const rows = known.flatMap(([key, text]) => [html("dt", {}, html("kbd", {}, key)), html("dd", {}, text)]);
  const close = html("button", { type: "button" }, "Close");
  const made = html("dialog", { "aria-label": "Keys" }, html("h2", {}, "Keys"), html("dl", {}, ...rows), close);
  close.addEventListener("click", () => dialog.close());
  document.body.append(made);
  return /** @type {any} */ (made);
}

export function listKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.target.closest("input, textarea, select")) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    dialog ??= makeDialog();
    if (!dialog.open) dialog.showModal();
  });
}

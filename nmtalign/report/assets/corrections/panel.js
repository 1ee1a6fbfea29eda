// What the inspector of a card that is edited shows: a reason, the changes with an undo each, a note and buttons. Only
// the reason changes while something is pointed at, in a place of its own, so that nothing moves.

import { counted, html, state } from "../page.js";
import { pairs, positions } from "../pairs/pairs.js";
import { tellProbability } from "../pairs/reasons.js";
import { iconOf, tellDone } from "../picture/actions.js";
import { acts, changesOf, goldOf, tellReview } from "./links.js";
import { discard, review, reviewedPairs, setLinks, setNote } from "./corrections.js";
import { downloadGold, lineOf } from "./downloads.js";

const HOW_TO_EDIT =
  "Click a word, then its partner: that makes a link, or removes the one they have. In the matrix, click a cell. " +
  "Shift holds several words of a sentence, which are linked at once.";

// What a card that is edited says while nothing is pointed at.
function explainEditing(pair) {
  const count = changesOf(pair).length;
  return { headline: count ? counted(count, "change") : "No changes", say: [HOW_TO_EDIT] };
}

const nameOfChange = (pair, key) => {
  const [s, t] = positions(key);
  return `\u2068${pair.shown.s[s]}\u2069 – \u2068${pair.shown.t[t]}\u2069`;
};

function button(name, label, act, content = label, about = {}) {
  const node = html("button", { type: "button", class: name, "aria-label": label, ...about }, content);
  node.addEventListener("click", act);
  return node;
}

function tellChange(pair, { key, before, after }) {
  const kind = after === 0 ? ", as a possible one" : "";
  const gives = `; the model gives it ${tellProbability(pair, ...positions(key))}`;
  if (before === undefined) return ["+", `added by you${kind}${gives}`];
  if (after === undefined) return ["−", `removed by you${gives}`];
  return ["±", `made ${after ? "a sure" : "a possible"} one by you`];
}

function rowOfChange(pair, change) {
  const { key, before, after } = change;
  const name = nameOfChange(pair, key);
  const [sign, told] = tellChange(pair, change);
  const cells = [positions(key)];
  const possible = button(
    "possible", `Possible: ${name}`, () => setLinks(pair, cells, after ? 0 : 1), "possible",
    { "aria-pressed": String(after === 0), hidden: after === undefined ? "" : null },
  );
  const undo = button("undo", `Undo: ${name}`, () => setLinks(pair, cells, before), iconOf("undo"));
  return html("li", {}, html("strong", {}, `${sign} ${name}`), html("span", {}, told), possible, undo);
}

function noteOf(pair) {
  const name = "Note on this pair";
  const note = html("input", { class: "note-of-pair", placeholder: name, "aria-label": name });
  note.value = pair.reviewed?.note ?? "";
  note.addEventListener("input", () => setNote(pair, note.value));
  return note;
}

// Links of the pair as a line, such as "0-0 1p2".
async function copyLinks(pair) {
  const line = lineOf(goldOf(pair));
  try {
    await window.navigator.clipboard.writeText(line);
    tellDone(pair, "The links are copied.");
  } catch {
    tellDone(pair, `The browser refuses to copy: ${line}`);
  }
}

export function tellProgress(box) {
  box.textContent = `${reviewedPairs().length} of ${counted(pairs.length, "pair")} reviewed`;
}

function severalWords() {
  const box = html("input", { type: "checkbox" });
  box.checked = state.several;
  box.addEventListener("change", () => (state.several = box.checked));
  return html("label", {}, box, "hold several words");
}

// Go to a pair that nobody has looked at; this one is then reviewed.
function goOn(pair) {
  if (!pair.reviewed) review(pair, true);
  document.dispatchEvent(new CustomEvent("next", { detail: { pair } }));
}

function makePanel(pair) {
  const changes = changesOf(pair);
  pair.check = html("input", { type: "checkbox" });
  pair.check.checked = Boolean(pair.reviewed);
  pair.check.addEventListener("change", () => review(pair, pair.check.checked));
  const progress = html("span", { class: "progress" });
  tellProgress(progress);
  const save = () => tellDone(pair, downloadGold());
  return html(
    "div",
    { class: "panel" },
    changes.length ? html("ol", { class: "changes" }, ...changes.map((change) => rowOfChange(pair, change))) : null,
    html(
      "p",
      { class: "buttons" },
      button("copy-links", "Copy links", () => copyLinks(pair)),
      button("save-gold", "Save as gold", save),
      button("discard", "Discard", () => discard(pair), "Discard", { disabled: changes.length ? null : "" }),
      severalWords(),
    ),
    noteOf(pair),
    html(
      "p",
      { class: "buttons" },
      html("label", { class: "check" }, pair.check, tellReview(pair) || "reviewed"),
      button("next", "Next unreviewed", () => goOn(pair)),
      progress,
    ),
  );
}

Object.assign(acts, { explainEditing, makePanel });

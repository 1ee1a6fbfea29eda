// The inspector of a card: why a word, a link or a cell is what it is. It is a fixed part of the card, which covers
// nothing. Nothing that is pointed at moves: the inspector has the height of the longest reason of its card.

import { html, onPaper, width } from "../page.js";
import { acts } from "../corrections/links.js";
import { positions } from "./pairs.js";
import { explainCell, explainWhole, explainWord } from "./reasons.js";
import { keyOf } from "./key.js";

const HINTS = {
  idle: ["Point at a word, a curve or a cell to see why. Click or ", ["Enter"], " pins it; ", ["?"], " lists keys."],
  kept: ["Pinned. Arrow keys go to other words; ", ["Esc"], " releases it."],
  seen: ["Click or ", ["Enter"], " keeps this here."],
  edit: [
    ["Enter"], " picks a word, arrows move, ", ["Enter"], " again links; ", ["P"], " makes the link a possible one; ",
    ["Ctrl Z"], " takes back, ", ["Esc"], " ends.",
  ],
};

// Where nothing can be pointed at, and there are no keys.
const TOUCH_HINTS = {
  idle: ["Tap a word, a curve or a cell to see why."],
  kept: ["Tap it again, or the ground, to let it go."],
};
const isTouched = window.matchMedia("(pointer: coarse)").matches;

function hintOf(name) {
  const parts = ((isTouched ? TOUCH_HINTS : HINTS)[name] ?? []).map((part) =>
    typeof part === "string" ? part : html("kbd", {}, part[0]),
  );
  return html("p", { class: "hint" }, ...parts);
}

// A sentence of plain strings and of [word, kind], which is bold and has the color of its kind.
const emphasized = ([word, kind]) => html("strong", { class: kind && `is-${kind}` }, word);
const sentence = (parts) => parts.map((part) => (typeof part === "string" ? part : emphasized(part)));

export const plainSentence = (parts) =>
  parts.map((part) => (typeof part === "string" ? part : part[0])).join("");

function barOf({ name, share, told = null, kind = "", dim = false, limit = null }) {
  const track = html("span", { class: "track" });
  track.style.setProperty("--v", `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`);
  if (limit !== null) {
    const tick = html("span", { class: "tick" });
    tick.style.left = `${100 * limit}%`;
    track.append(tick);
  }
  const label = name === null ? null : html("span", { class: "name", dir: name.includes(" – ") ? null : "auto" }, name);
  const about = { class: `share${kind && ` is-${kind}`}${dim ? " dim" : ""}` };
  return html("p", about, label, track, told && html("span", {}, told));
}

const groupOf = ({ head, note, bars, kind = "" }) =>
  html(
    "div",
    { class: `group ${kind}` },
    html("p", { class: "title" }, head),
    note ? html("p", { class: "caption" }, note) : null,
    ...bars.map(barOf),
  );

function bothTogether(both) {
  const bar = barOf({ name: null, limit: both.limit, ...both });
  const parts = [html("p", { class: "title" }, both.head), bar];
  if (both.limit !== null) {
    const needed = html("p", { class: "needed caption" }, both.needs);
    needed.style.setProperty("--limit", String(both.limit));
    parts.push(needed);
  }
  return html("div", { class: "verdict" }, ...parts);
}

// Show a reason: { headline, say, groups, both, notes } as in reasons.js.
export function fillInspector(pair, reason, extra = [], hint = pair.pinned ? "kept" : "seen") {
  const box = pair.card.querySelector(".why");
  if (!box) return;
  const { headline, say, groups = [], both = null, notes = [] } = reason;
  const told = [
    html("p", { class: "headline", id: `headline-${pair.n}` }, headline),
    html("p", { class: "say", id: `say-${pair.n}` }, ...sentence(say)),
  ];
  if (pair.editing) return fillEditor(pair, box, told);
  box.replaceChildren(
    ...told,
    ...(groups.length ? [html("div", { class: "groups" }, ...groups.map(groupOf))] : []),
    ...(both ? [bothTogether(both)] : []),
    ...notes.map((note) => html("p", { class: "caption" }, note)),
    ...extra,
    hintOf(hint),
  );
}

const MOST_WORDS = 40; // of a side, and links, whose reasons are compared
const MEASURED = 3; // reasons, the longest ones

// About how high a reason is, with sizes as in the style sheet.
function heightOfReason({ headline, say, groups = [], both, notes = [] }, wide) {
  const lines = (text, size) => Math.ceil((1.03 * width(text, size)) / wide);
  const rows = Math.max(0, ...groups.map(({ bars }) => bars.length));
  const text = 28 * lines(headline, 20) + 24 * lines(plainSentence(say), 15);
  return text + 24 * rows + (both?.needs ? 16 : 0) + notes.reduce((sum, note) => sum + 6 + 16 * lines(note, 12), 0);
}

// The longest reasons of words and links.
function longestReasons(pair, wide) {
  const words = ["s", "t"].flatMap((side) =>
    pair[side].slice(0, MOST_WORDS).map((_, i) => explainWord(pair, side, i)));
  const links = [...new Set([...pair.links.keys(), ...(pair.gold?.keys() ?? [])])].slice(0, MOST_WORDS);
  const reasons = [...words, ...links.map((key) => explainCell(pair, ...positions(key)))];
  const heights = new Map(reasons.map((reason) => [reason, heightOfReason(reason, wide)]));
  return reasons.sort((a, b) => heights.get(b) - heights.get(a));
}

// Make room for the longest reasons of some pairs. All are written before any is measured.
export function reserveRoom(pairs) {
  const chosen = pairs.filter(({ S, T, editing }) => S + T && !editing);
  const boxes = chosen.map(({ card }) => card.querySelector(".why"));
  const reasons = chosen.map((pair, n) => longestReasons(pair, boxes[n].clientWidth));
  const heights = boxes.map(() => 0);
  const measure = (fill) => {
    chosen.forEach(fill);
    boxes.forEach((box, n) => (heights[n] = Math.max(heights[n], Math.ceil(box.getBoundingClientRect().height))));
  };
  measure((pair) => explainPair(pair));
  for (let rank = 0; rank < MEASURED; rank++) {
    measure((pair, n) => fillInspector(pair, reasons[n][Math.min(rank, reasons[n].length - 1)]));
  }
  boxes.forEach((box, n) => (box.style.minHeight = `${heights[n]}px`));
}

// The panel stays while another reason is told.
function fillEditor(pair, box, told) {
  if (!box.querySelector(".panel")) {
    box.replaceChildren(html("div", { class: "told" }), acts.makePanel(pair), hintOf("edit"));
  }
  box.firstChild.replaceChildren(...told);
}

// What a card says while nothing is pointed at: its most instructive link, how to read it, and the closest calls.
export function explainPair(pair) {
  if (onPaper()) return;
  if (pair.editing) return fillInspector(pair, acts.explainEditing(pair));
  const { calls, ...reason } = explainWhole(pair);
  const entries = html("ul", { class: "key" }, ...keyOf([pair]).map((entry) => html("li", {}, ...entry)));
  const extra = [html("div", { class: "groups" },
    html("div", { class: "group" }, html("p", { class: "title" }, "How to read it"), entries),
    calls ? groupOf(calls) : null,
  )];
  fillInspector(pair, reason, extra, "idle");
}

// The inspector of a card: why a word, a link or a cell is what it is. It is a fixed part of the card, which covers
// nothing. Nothing that is pointed at moves: the inspector keeps the height that it has had.

import { html, onPaper } from "../page.js";
import { acts } from "../corrections/links.js";
import { explainWhole } from "./reasons.js";
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

function hintOf(name) {
  const parts = HINTS[name].map((part) =>
    typeof part === "string" ? part : html("kbd", {}, part[0]),
  );
  return html("p", { class: "hint" }, ...parts);
}

// A sentence of plain strings and of [word, kind], which is bold and has the color of its kind.
const emphasized = ([word, kind]) => html("strong", { class: kind && `is-${kind}` }, word);
const sentence = (parts) => parts.map((part) => (typeof part === "string" ? part : emphasized(part)));

export const plainSentence = (parts) =>
  parts.map((part) => (typeof part === "string" ? part : part[0])).join("");

function barOf({ name, share, told, kind = "", dim = false, limit = null }) {
  const track = html("span", { class: "track" });
  track.style.setProperty("--v", `${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%`);
  if (limit !== null) {
    const tick = html("span", { class: "tick" });
    tick.style.left = `${100 * limit}%`;
    track.append(tick);
  }
  const label = name === null ? null : html("span", { class: "name", dir: name.includes(" – ") ? null : "auto" }, name);
  const about = { class: `share${kind && ` is-${kind}`}${dim ? " dim" : ""}` };
  return html("p", about, label, track, html("span", {}, told));
}

const groupOf = ({ head, note, bars }) =>
  html(
    "div",
    { class: "group" },
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
  const height = extra.length ? 0 : box.scrollHeight; // of what is shown so far
  box.replaceChildren(
    ...told,
    ...(groups.length ? [html("div", { class: "groups" }, ...groups.map(groupOf))] : []),
    ...(both ? [bothTogether(both)] : []),
    ...notes.map((note) => html("p", { class: "caption" }, note)),
    ...extra,
    hintOf(hint),
  );
  const least = Number.parseFloat(box.style.minHeight) || 0;
  if (height > least) box.style.minHeight = `${height}px`;
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

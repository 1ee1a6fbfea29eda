// The tools above the pairs, and the key to what is drawn. A choice is told as the event "chosen".

import { byId, colors, data, html, onPaper, root, state, svg } from "../page.js";
import { nameOf, pairs } from "../pairs/pairs.js";
import { TAGS, twoPanels } from "../panels.js";
import { drawMarks, tellColors } from "../pairs/matrix.js";

export function choice(label, key, options) {
  const select = html(
    "select",
    { "data-key": key },
    ...options.map(([value, text]) => html("option", { value }, text)),
  );
  select.value = String(state[key]);
  select.addEventListener("change", () => {
    state[key] = select.value;
    tellChoice();
  });
  return html("label", {}, label, select);
}

const tellChoice = () => document.dispatchEvent(new Event("chosen"));

export function tick(label, key) {
  const box = html("input", { type: "checkbox", "data-key": key });
  box.checked = state[key];
  box.addEventListener("change", () => {
    state[key] = box.checked;
    tellChoice();
  });
  return html("label", {}, box, label);
}

// Weights of heads are left out of later pairs, to keep the file small.
function extent(view) {
  const shown = pairs.filter((pair) => pair.m[view]).length;
  return shown < pairs.length ? ` (${shown} pairs)` : "";
}

export function makeToolbar() {
  const tools = document.querySelector(".toolbar");
  const views = data.views.map((view) => [view, view + extent(view)]);
  const hasGold = data.gold || root.dataset.kind !== "cards"; // that which is corrected
  const against = [
    ["none", "nothing"],
    ...(hasGold ? [["gold", "gold"]] : []),
    ...data.others.map((name, i) => [String(i), name]),
  ];
  const systems = [
    ...(data.gold ? [["=gold", "gold"]] : []),
    ...data.others.map((name, i) => [`=${i}`, name]),
  ];
  tools.append(
    choice("Weights", "view", [...views, ...systems]),
    choice("Beside", "beside", [["none", "nothing"], ["=all", "all weights"], ...views, ...systems]),
  );
  if (against.length > 1) {
    tools.append(choice("Against", "compare", against));
  }
  tools.append(tick("matrices", "matrices"), tick("linear", "linear"), tick("columns", "down"));
  // only the pairs of a report are lines of a text
  if (root.dataset.kind !== "cards") tools.append(tick("edit links", "edit"));
}

const KEYS = {
  none: [["both", "link"]],
  gold: [
    ["hit", "link in the gold"],
    ["wrong", "link not in it"],
    ["missed", "sure link missing"],
  ],
  other: [
    ["both", "both"],
    ["only", "only here"],
    ["other", "only there"],
  ],
  edit: [
    ["sure", "sure"],
    ["maybe", "possible"],
  ],
  panels: [
    ["both", "in both"],
    ["only", "only in A"],
    ["theirs", "only in B"],
  ],
};

function kindsToTell() {
  if (state.edit) return KEYS.edit;
  if (twoPanels() && state.compare !== "gold") return KEYS.panels;
  return KEYS[state.compare] ?? KEYS.other;
}

export function drawKey() {
  const key = byId("key");
  key.replaceChildren(
    ...kindsToTell().map(([kind, text]) => {
      const sample = svg(
        "svg",
        { width: 34, height: 14, "aria-hidden": "true" },
        svg("path", { class: `link ${kind}`, d: "M1 7H33", "stroke-width": 2 }),
      );
      if (TAGS[kind]) sample.append(svg("text", { class: `tag ${kind}`, x: 17, y: 7 }, TAGS[kind]));
      return html("span", {}, sample, text);
    }),
  );
  if (twoPanels() && !state.edit) key.append(html("span", {}, "A, B: only in this panel; faint: in both"));
  const curve = svg(
    "svg",
    { width: 34, height: 14, "aria-hidden": "true" },
    svg(
      "g",
      { class: "attention" },
      svg("path", { d: "M1 2C17 2 17 12 33 12", "stroke-width": 4, opacity: 0.6 }),
    ),
  );
  if (!onPaper()) key.append(html("span", { class: "of-matrix" }, curve, "attention of a word"));
  const cell = (marks, text, kind = null) => {
    const sample = svg(
      "svg",
      { width: 16, height: 16, "aria-hidden": "true" },
      svg("rect", { width: 16, height: 16, fill: colors()[10], class: kind }),
    );
    drawMarks(sample, () => [0, 0], 16, { gold: null, diamonds: null, dots: null, ...marks });
    key.append(html("span", { class: "of-matrix" }, sample, text));
  };
  if (!state.matrices) return;
  key.append(tellColors(state.view));
  const one = new Map([["0-0", 1]]);
  cell({ dots: one }, "link in the matrix");
  if (data.gold) {
    cell({ gold: one }, "sure in the gold");
    cell({ gold: new Map([["0-0", 0]]) }, "possible");
  }
  if (data.pairs.some((pair) => pair.u?.some((side) => side.length))) cell({}, "no vector", "lacking");
  const diamonds = twoPanels() ? `B: ${nameOf(state.beside)}` : data.others[state.compare];
  if (diamonds !== undefined) cell({ diamonds: one }, diamonds);
}

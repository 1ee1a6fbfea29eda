// The tools above the pairs, and the key to what is drawn. A choice is told as the event "chosen".

import { byId, colors, data, html, onPaper, root, state, svg } from "../page.js";
import { TAGS, pairs } from "../pairs/pairs.js";
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
    ["=links", "links"],
    ...(data.gold ? [["=gold", "gold"]] : []),
    ...data.others.map((name, i) => [`=${i}`, name]),
  ];
  tools.append(
    choice("Weights", "view", views),
    choice("Beside", "beside", [["none", "nothing"], ["=all", "all weights"], ...views, ...systems]),
  );
  if (against.length > 1) {
    tools.append(choice("Compare with", "compare", against), tick("only pairs that differ", "only"));
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
};

export function drawKey() {
  const kinds = KEYS[state.edit ? "edit" : state.compare] ?? KEYS.other;
  const key = byId("key");
  key.replaceChildren(
    ...kinds.map(([kind, text]) => {
      const sample = svg(
        "svg",
        { width: 34, height: 14, "aria-hidden": "true" },
        svg("path", { class: `link ${kind}`, d: "M1 7H33", "stroke-width": 2 }),
      );
      if (TAGS[kind]) sample.append(svg("text", { class: `tag ${kind}`, x: 17, y: 7 }, TAGS[kind]));
      return html("span", {}, sample, text);
    }),
  );
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
  const cell = (draw, text, kind = null) => {
    const sample = svg(
      "svg",
      { width: 16, height: 16, "aria-hidden": "true" },
      svg("rect", { width: 16, height: 16, fill: colors[10], class: kind }),
    );
    drawMarks(draw, sample, () => [0, 0], 16);
    key.append(html("span", { class: "of-matrix" }, sample, text));
  };
  if (!state.matrices) return;
  key.append(tellColors(state.view));
  const nothing = { links: new Map(), gold: null, others: {} };
  const one = new Map([["0-0", 1]]);
  cell({ ...nothing, links: one }, "link in the matrix");
  if (data.gold) {
    cell({ ...nothing, gold: one }, "sure in the gold");
    cell({ ...nothing, gold: new Map([["0-0", 0]]) }, "possible");
  }
  if (data.pairs.some((pair) => pair.u?.some((side) => side.length))) cell(nothing, "no vector", "lacking");
  if (data.others[state.compare] !== undefined) {
    cell({ ...nothing, others: { [state.compare]: one } }, data.others[state.compare]);
  }
}

// The tools above the pairs, and the key to what is drawn. A choice is told as the event "chosen".

import { byId, data, html, onPaper, state } from "../page.js";
import { pairs } from "../pairs/pairs.js";
import { badgeOf, hasLongNames } from "../panels.js";
import { keyOf } from "../pairs/key.js";
import { TERMS } from "../pairs/terms.js";

export function choice(label, key, options, title = null) {
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
  return html("label", { title }, label, select);
}

const tellChoice = () => document.dispatchEvent(new Event("chosen"));

export function tick(label, key, title = null) {
  const box = html("input", { type: "checkbox", "data-key": key });
  box.checked = state[key];
  box.addEventListener("change", () => {
    state[key] = box.checked;
    tellChoice();
  });
  return html("label", { title }, box, label);
}

// Weights of heads are omitted from later pairs, to keep the file small.
function extent(view) {
  const shown = pairs.filter((pair) => pair.m[view]).length;
  return shown < pairs.length ? ` (${shown} pairs)` : "";
}

export function makeToolbar() {
  const tools = document.querySelector("#bar .toolbar");
  const views = data.views.map((view) => [view, view + extent(view)]);
  const hasGold = data.gold || pairs.some(({ gold }) => gold); // that of the report, or of its corrections
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
    choice("Weights", "view", [...views, ...systems], TERMS.probability),
    choice("Beside", "beside", [["none", "nothing"], ["=all", "all weights"], ...views, ...systems]),
  );
  if (against.length > 1) {
    tools.append(choice("Against", "compare", against, hasGold ? TERMS.gold : null));
  }
  tools.append(
    tick("matrices", "matrices", "Draw the matrix of each pair"),
    tick("linear", "linear", "Make the opacity of a cell proportional to its weight; else small weights are stronger"),
    tick("columns", "down", "Write the words of a sentence below each other"),
  );
}

// On paper the key stands above the pairs; on screens each card has its own.
export function drawKey() {
  const entries = onPaper() ? keyOf(pairs) : [];
  byId("key").replaceChildren(...entries.map((entry) => html("span", {}, ...entry)));
  drawLegend();
}

// The systems that are called by letters because their names are long.
function drawLegend() {
  const legend = byId("legend");
  legend.hidden = !hasLongNames();
  if (legend.hidden) return;
  const names = [data.own ?? "these links", ...data.others];
  const entry = (name, i) =>
    html("span", {}, html("span", { class: "badge" }, i ? badgeOf(i - 1) : "A"), html("span", { title: name }, name));
  legend.replaceChildren(...names.map(entry));
}

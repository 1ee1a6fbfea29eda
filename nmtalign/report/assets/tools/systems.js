// Systems against the same gold: their scores, best first, and what the difference to one of them may owe to chance.

import { byId, data, html, state } from "../page.js";

const percentOf = (x) => (x === null ? "–" : x.toFixed(1));
const signed = (x) => (x > 0 ? `+${x.toFixed(1)}` : x.toFixed(1).replace("-", "−"));

// How much the error of one system is above that of another: [difference, low, high, p], as the data have it or turned.
function difference(base, row) {
  const found = data.systems.differences[`${base}-${row}`];
  if (found) return found;
  const [value, low, high, p] = data.systems.differences[`${row}-${base}`];
  return [-value, -high, -low, p];
}

export function drawSystems() {
  const fold = byId("systems");
  fold.hidden = !data.systems;
  if (!data.systems) return;
  const { verdict, pairs, rows } = data.systems;
  const compared = Object.keys(data.systems.differences).length;
  fold.open = window.innerWidth > 1000;
  fold.querySelector("summary span").textContent = verdict;
  const about = { class: "scroll", tabindex: 0, role: "region", "aria-label": "Scores of the systems" };
  const table = html("div", about);
  const draw = (base) => {
    table.replaceChildren(tableOf(rows, base));
    for (const button of table.querySelectorAll("[aria-pressed]")) {
      button.addEventListener("click", () => {
        draw(Number(button.dataset.row));
        table.querySelector(`[data-row="${button.dataset.row}"]`).focus();
      });
    }
    for (const button of table.querySelectorAll(".show")) button.addEventListener("click", () => showBeside(button));
  };
  const shared = compared > 1 ? `, divided by ${compared} comparisons` : "";
  const note =
    `On ${pairs.toLocaleString("en")} pairs with gold, in percent; AER with half of its 95 % interval. ` +
    "A name compares the others with it: difference in AER, its 95 % interval and p by paired bootstrap. " +
    `It is more than chance where p is below .05${shared}.`;
  fold.append(table, html("p", { class: "settings" }, note));
  draw(0);
}

function tableOf(rows, base) {
  const heads = ["System", "Links", "Precision", "Recall", "AER", `AER above ${rows[base][0]}`, "p", "Pairs"];
  return html(
    "table",
    {},
    html("caption", { class: "unseen" }, "Systems, best first"),
    html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))),
    html("tbody", {}, ...rows.map((row, i) => rowOfSystem(row, i, base))),
  );
}

function rowOfSystem([name, links, precision, recall, aer, margin], i, base) {
  const [value, low, high, p] = i === base ? [] : difference(base, i);
  const about = { type: "button", "aria-pressed": String(i === base), "data-row": i };
  const cell = (...content) => html("td", {}, ...content);
  const view = data.others.indexOf(name);
  const show = html("button", { type: "button", class: "show", "data-view": view }, "beside");
  return html(
    "tr",
    {},
    html("th", { scope: "row", class: "word" }, html("button", about, name)),
    cell(links.toLocaleString("en")),
    cell(percentOf(precision)),
    cell(percentOf(recall)),
    cell(percentOf(aer), html("small", {}, ` ± ${percentOf(margin)}`)),
    i === base ? cell("–") : cell(signed(value), html("small", {}, ` [${signed(low)}, ${signed(high)}]`)),
    cell(i === base ? "–" : p),
    cell(view < 0 ? "" : show),
  );
}

// Put a system beside the links of the report, in each pair.
function showBeside({ dataset }) {
  state.view = "combined";
  state.beside = `=${dataset.view}`;
  document.dispatchEvent(new Event("chosen"));
}

// The search box, kept in the address of the page.

import { byId, html, quote, state } from "../page.js";
import { markWith } from "../pairs/cards.js";
import { pairs } from "../pairs/pairs.js";
import { choose, chosenCondition, conditions } from "../filters.js";
import { SIDES, markFound, search, tellQuery } from "../search.js";
import { drawnPairs, show } from "../list.js";
import { writeAddress } from "./address.js";
import { choice, tick } from "./toolbar.js";
import { drawRows, markCurrent } from "./index.js";

export function find() {
  const matches = search();
  const shown = pairs.filter(matches);
  show(shown);
  drawnPairs().forEach(markFound);
  drawRows();
  const count = shown.length;
  byId("found").textContent =
    count === pairs.length
      ? `${count} pair${count === 1 ? "" : "s"}`
      : count
        ? `${count} of ${pairs.length} pairs`
        : "No pair is found";
  byId("found").textContent += tellQuery();
  tellNothing(!count);
  writeAddress();
  markCurrent();
}

function tellNothing(nothing) {
  const where = { both: "", source: " in its source sentence", target: " in its target sentence" }[state.in];
  const what = state.find.trim()
    ? ` that has ${quote(state.find.trim())}${state.whole ? " as a whole word" : ""}${where}`
    : "";
  const again = html("button", { type: "button" }, "Show all pairs");
  again.addEventListener("click", showAll);
  byId("nothing").hidden = !nothing;
  if (!pairs.length) return byId("nothing").replaceChildren("This sample has no pairs.");
  byId("nothing").replaceChildren(
    `There is no pair${what}. `,
    again,
  );
}

export function showAll() {
  state.find = "";
  showFinder();
  find();
}

export function drawFinder() {
  markWith(markFound);
  byId("scope").append(
    choice(
      "in",
      "in",
      Object.keys(SIDES).map((side) => [side, side === "both" ? "both sentences" : side]),
    ),
    tick("whole words", "whole"),
    html("label", {}, "show", html("select", { id: "conditions" })),
  );
  byId("conditions").addEventListener("change", ({ target }) => {
    choose(target.value, conditions());
    showFinder();
    find();
  });
  byId("queries").append(...conditions().slice(1).map(([value, text]) => html("option", { value }, text)));
  let typing = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      state.find = event.target.value;
      showConditions();
      find();
    }, 120);
  });
}

function showConditions() {
  const offers = conditions();
  const options = offers.map(([value, text]) => html("option", { value }, text));
  byId("conditions").replaceChildren(...options);
  byId("conditions").value = chosenCondition(offers);
}

export function showFinder() {
  byId("search").value = state.find;
  showConditions();
  for (const box of document.querySelectorAll("[data-key]")) {
    if (box.type === "checkbox") box.checked = state[box.dataset.key];
    else if (box.matches("select")) box.value = state[box.dataset.key];
  }
}

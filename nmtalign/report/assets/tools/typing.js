// The page of `nmtalign serve`: pairs are aligned while they are typed, line by line, and their cards drawn anew.

import "../report.js";
import { byId, data, html, inflate, state } from "../page.js";
import { Pair, byNumber, extents, pairs } from "../pairs/pairs.js";
import { drawKey, makeToolbar } from "./toolbar.js";
import { drawIndex } from "./index.js";
import { find } from "./find.js";

const typed = (name, about) =>
  html("textarea", {
    name,
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: 10000,
    ...about,
  });
const sides = { source: typed("source", { autofocus: "" }), target: typed("target") };
const models = html("select", {}, ...data.models.map((name) => html("option", {}, name)));
const told = html("p", { role: "status" });

function tell(text, wrong = false) {
  told.textContent = text;
  told.classList.toggle("wrong", wrong);
  byId("list").classList.toggle("old", wrong); // the pairs are those of an earlier text
}

function showAnswer(answer) {
  const before = data.usual;
  Object.assign(data, answer);
  pairs.splice(0, pairs.length, ...data.pairs.map((raw) => new Pair(raw)));
  byNumber.clear();
  extents.clear();
  for (const pair of pairs) byNumber.set(`pair-${pair.n}`, pair);
  if (data.usual !== before || !data.views.includes(state.view)) state.view = data.usual;
  document.querySelector(".toolbar").replaceChildren();
  makeToolbar();
  drawKey();
  drawIndex();
  find();
}

let asked = 0;

async function ask() {
  const number = ++asked;
  const [source, target] = [sides.source.value, sides.target.value];
  if (!source.trim() || !target.trim()) {
    return tell("Type a sentence and its translation; pairs of lines are pairs of sentences.");
  }
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: models.value, source, target }),
  };
  try {
    const answer = await (await fetch("pairs", request)).json();
    if (number !== asked) return; // an older one
    if (answer.error) return tell(answer.error, true);
    answer.levels = await inflate(answer.weights);
    showAnswer(answer);
    tell(data.settings);
  } catch {
    tell("The server does not answer; is `nmtalign serve` still running?", true);
  }
}

let pause = 0;
const form = html(
  "form",
  { id: "typing" },
  html("h1", { class: "unseen" }, "Word alignment"),
  html("label", {}, "Source", sides.source),
  html("label", {}, "Target", sides.target),
  data.models.length > 1 ? html("label", {}, "Model", models) : null,
  told,
);
for (const kind of ["input", "change"]) {
  form.addEventListener(kind, () => {
    clearTimeout(pause);
    pause = setTimeout(ask, 150);
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("main").prepend(form);
[sides.source.value, sides.target.value] = data.example;
state.beside = "=all";
ask();

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
const options = () => data.models.map((name) => html("option", {}, name));
const model = html("select", {}, ...options());
const second = html("select", {}, html("option", { value: "" }, "no other"), ...options());
const told = html("p", { role: "status" });

function tell(text, wrong = false) {
  told.textContent = text;
  told.classList.toggle("wrong", wrong);
  byId("list").classList.toggle("old", wrong); // the pairs are those of an earlier text
}

function showAnswer(answer) {
  const [before, others] = [data.usual, String(data.others)];
  Object.assign(data, answer, { own: model.value });
  pairs.splice(0, pairs.length, ...data.pairs.map((raw) => new Pair(raw)));
  byNumber.clear();
  extents.clear();
  for (const pair of pairs) byNumber.set(`pair-${pair.n}`, pair);
  if (data.usual !== before || !data.views.includes(state.view)) state.view = data.usual;
  if (String(data.others) !== others) {
    Object.assign(state, { compare: data.compare, beside: data.others.length ? "=0" : "=all" });
  }
  document.querySelector(".toolbar").replaceChildren();
  makeToolbar();
  drawKey();
  drawIndex();
  find();
}

const chosenModels = () => [...new Set([model.value, second.value])].filter(Boolean);

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
    body: JSON.stringify({ models: chosenModels(), source, target }),
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
  html(
    "div",
    { hidden: data.models.length < 2 },
    html("label", {}, "Model", model),
    html("label", {}, "Beside", second),
  ),
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
second.value = data.models[1] ?? "";
state.beside = "=all";
ask();

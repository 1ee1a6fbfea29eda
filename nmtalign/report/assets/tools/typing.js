// The page of `nmtalign serve`: pairs are aligned while they are typed, line by line, and their cards drawn anew.

import "../report.js";
import { byId, counted, data, html, inflate, nameOfSide, quote, state } from "../page.js";
import { Pair, byNumber, extents, pairs } from "../pairs/pairs.js";
import { firstAddress } from "./address.js";
import { drawKey, makeToolbar } from "./toolbar.js";
import { drawIndex } from "./index.js";
import { find } from "./find.js";

const MAX_CHARACTERS = 10000; // of a text; the server takes no longer ones
const RETRY_MS = 2000;
const TYPED = "nmtalign typed"; // where this tab keeps what is typed, so that it survives a reload

const typed = (name, about) =>
  html("textarea", {
    name,
    dir: "auto",
    autocomplete: "off",
    spellcheck: "false",
    ...about,
  });
const sides = { source: typed("source", { autofocus: "" }), target: typed("target") };
const options = () => data.models.map((name) => html("option", {}, name));
const model = html("select", {}, ...options());
const second = html("select", {}, html("option", { value: "" }, "no other"), ...options());
const told = html("p", { role: "status" });
const settings = html("p", {});
const copied = html("span", { role: "status" });

function tell(text, { wrong = false, old = wrong } = {}) {
  told.textContent = text;
  told.classList.toggle("wrong", wrong);
  byId("list").classList.toggle("old", old); // the pairs are those of an earlier text
  byId("list").inert = old; // and no answer to read
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
    Object.assign(state, { compare: data.compare, beside: data.others.length ? "=0" : "none" });
  }
  document.querySelector("#bar .toolbar").replaceChildren();
  makeToolbar();
  drawKey();
  drawIndex();
  find();
}

// Complete pairs of lines are aligned while the last line waits for its partner.
function completeLines() {
  const linesOf = (text) => text.replace(/^[\r\n]+|[\r\n]+$/g, "").split("\n");
  const lines = [sides.source.value, sides.target.value].map(linesOf);
  const count = Math.min(...lines.map((some) => some.length));
  const [longer, shorter] = lines[0].length > count ? ["source", "target"] : ["target", "source"];
  const most = Math.max(...lines.map((some) => some.length));
  const over = most - count;
  const last = over === 1 ? "the last one waits for its partner" : `the last ${over} wait for their partners`;
  const waiting = over ? `${counted(most, `${longer} line`)}, ${count} ${shorter}: ${last}.` : "";
  return { texts: lines.map((some) => some.slice(0, count).join("\n")), waiting };
}

// Truncate a text that is too long, and say so.
function cutText() {
  let told = "";
  for (const box of Object.values(sides)) {
    if (box.value.length <= MAX_CHARACTERS) continue;
    box.value = box.value.slice(0, MAX_CHARACTERS);
    told = `The ${box.name} text was truncated to ${MAX_CHARACTERS.toLocaleString("en")} characters. `;
  }
  return told;
}

function keepTyped() {
  try {
    sessionStorage.setItem(TYPED, JSON.stringify([sides.source.value, sides.target.value]));
  } catch {
    // a browser that keeps nothing
  }
}

function typedBefore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(TYPED));
    return Array.isArray(kept) && kept.length === 2 && kept.every((text) => typeof text === "string") ? kept : null;
  } catch {
    return null;
  }
}

// "13 links by the model ‘default’."
function tellResult() {
  const links = pairs.reduce((sum, pair) => sum + pair.links.size, 0);
  const languages = data.languages?.every(Boolean) ? ` of ${nameOfSide(0)} and ${nameOfSide(1)}` : "";
  return `${counted(links, "link")} by the model ${quote(model.value)}${languages}.`;
}

const chosenModels = () => [...new Set([model.value, second.value])].filter(Boolean);

let asked = 0;

async function ask() {
  const number = ++asked;
  const cut = cutText();
  keepTyped();
  const { texts: [source, target], waiting } = completeLines();
  if (!source.trim() || !target.trim()) {
    const advice = "Type a sentence and its translation; pairs of lines are pairs of sentences.";
    return tell(advice, { old: pairs.length > 0 });
  }
  if (!pairs.length) tell("Aligning; the first time, a model is read.");
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ models: chosenModels(), source, target }),
  };
  try {
    const answer = await (await fetch("pairs", request)).json();
    if (number !== asked) return; // an older one
    if (answer.error) return tell(answer.error, { wrong: true });
    answer.levels = await inflate(answer.weights);
    showAnswer(answer);
    settings.textContent = answer.settings;
    tell(`${cut}${waiting ? `${waiting} ` : ""}${tellResult()}`);
  } catch {
    if (number !== asked) return;
    const advice = "is `nmtalign serve` still running? The page asks again every two seconds.";
    tell(`The server does not answer; ${advice}`, { wrong: true });
    clearTimeout(pause);
    pause = setTimeout(ask, RETRY_MS);
  }
}

// The address of this page with what is typed.
async function copyTyped() {
  const params = new URLSearchParams({ source: sides.source.value, target: sides.target.value });
  const address = `${window.location.href.split("#")[0]}#${params}`;
  try {
    await window.navigator.clipboard.writeText(address);
    copied.textContent = "The link is copied.";
  } catch {
    window.history.replaceState(null, "", address);
    copied.textContent = "The browser refuses to copy; the link is in the address bar.";
  }
  setTimeout(() => copied.replaceChildren(), 6000);
}

// The sentences of the address that the page was opened with.
function typedInAddress() {
  const params = new URLSearchParams(firstAddress.slice(1));
  return params.has("source") && params.has("target") ? [params.get("source"), params.get("target")] : null;
}

let pause = 0;
const copyButton = html("button", { type: "button" }, "Copy link");
copyButton.addEventListener("click", copyTyped);
const form = html(
  "form",
  { id: "typing" },
  html("h1", {}, "Word alignment"),
  html("p", { class: "help" }, "Type a sentence and its translation: curves join the words that translate each other. ",
    "Each line is a pair of its own; point at a word to see why it is linked."),
  html("label", {}, "Source", sides.source),
  html("label", {}, "Target", sides.target),
  html(
    "div",
    { hidden: data.models.length < 2 },
    html("label", {}, "Model", model),
    html("label", {}, "Compare with", second),
  ),
  told,
  html("div", { class: "foot" }, html("details", {}, html("summary", {}, "Settings"), settings), copyButton, copied),
);
for (const kind of ["input", "change"]) {
  form.addEventListener(kind, () => {
    clearTimeout(pause);
    pause = setTimeout(ask, 150);
  });
}
form.addEventListener("submit", (event) => event.preventDefault());
document.querySelector("main").prepend(form);
[sides.source.value, sides.target.value] = typedInAddress() ?? typedBefore() ?? data.example;
second.value = data.models[1] ?? "";
ask();

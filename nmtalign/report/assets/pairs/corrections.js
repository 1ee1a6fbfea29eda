// Corrected links: two words, or a cell, go none, sure, possible. Each change is told as the event "corrected".

import { byId, html, quote, state } from "../page.js";
import { hideTip } from "../tooltip.js";
import { comparedLinks } from "./pairs.js";

export const corrected = new Map(); // number of a pair -> its links
const steps = []; // [pair, its links before]

export function goldOf(pair) {
  pair.start ??= pair.gold ?? new Map([...pair.links.keys()].map((key) => [key, 1]));
  return corrected.get(pair.n) ?? pair.start;
}

// The links to draw, each with its kind under the chosen comparison.
export function drawnLinks(pair) {
  return state.edit
    ? [...goldOf(pair)].map(([key, sure]) => [key, sure ? "sure" : "maybe"])
    : comparedLinks(pair);
}

function correct(pair, links) {
  steps.push([pair, corrected.get(pair.n)]);
  setCorrected(pair, links);
}

function setCorrected(pair, links) {
  if (links) corrected.set(pair.n, links);
  else corrected.delete(pair.n);
  document.dispatchEvent(new CustomEvent("corrected", { detail: pair }));
}

export const NEXT = new Map([
  [undefined, 1],
  [1, 0],
  [0, undefined],
]);

export function setLink(pair, s, t, kind, focusAgain) {
  const links = new Map(goldOf(pair));
  const key = `${s}-${t}`;
  if (kind === undefined) links.delete(key);
  else links.set(key, kind);
  correct(pair, links);
  focusAgain();
  hideTip();
  byId("live").textContent =
    `${quote(pair.s[s])} – ${quote(pair.t[t])}: ${["possible", "sure"][kind] ?? "no link"}`;
}

const KEYS_OF_LINKS = { s: 1, p: 0, Delete: undefined, Backspace: undefined, n: undefined };

// A cell that is clicked, or on which a key is pressed; whether it was for the editor.
export function chooseCell(pair, s, t, key, picture) {
  const next = key === null || key === "Enter" || key === " ";
  if (!state.edit || !(next || key in KEYS_OF_LINKS)) return false;
  const pictures = () => [...pair.card.querySelectorAll(".matrix svg[tabindex]")];
  const which = pictures().indexOf(picture);
  const focused = picture.matches(":focus");
  const kind = next ? NEXT.get(goldOf(pair).get(`${s}-${t}`)) : KEYS_OF_LINKS[key];
  setLink(pair, s, t, kind, () => {
    if (focused) pictures()[which].focus();
  });
  return true;
}

// A pair without an error is corrected, too, once somebody has looked.
export function editorOf(pair) {
  pair.check = html("input", { type: "checkbox" });
  pair.check.checked = corrected.has(pair.n);
  pair.check.addEventListener("change", () => correct(pair, pair.check.checked ? goldOf(pair) : undefined));
  return [html("label", { class: "check" }, pair.check, "corrected")];
}

export function undo() {
  const [pair, links] = steps.pop() ?? [];
  if (!pair) return;
  setCorrected(pair, links);
  byId("live").textContent = `Pair ${pair.n} is as it was`;
  return pair;
}

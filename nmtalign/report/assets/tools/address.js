// The address after #: a part of the page, then what is searched for, as in
// #pair-17&find=chat&in=target&concordance-t=chat

import { byId, lower, root, state } from "../page.js";
import { SIDES } from "../search.js";

// The address that the page was opened with; later ones keep only what the parts of the page know.
export const firstAddress = window.location.hash;

// The words whose concordance is shown, the translation that was chosen, and the word that was clicked.
export const query = { side: "s", words: [], unit: null, from: null };
export const wordsIn = (text) => text.split(/\s+/).filter(Boolean).map(lower);
export const anchor = () =>
  window.location.hash
    .slice(1)
    .split("&")
    .find((part) => !part.includes("=")) ?? "";

export function writeAddress() {
  const params = new URLSearchParams();
  const before = new URLSearchParams(window.location.hash.slice(1));
  for (const name of ["pin", "theme"]) if (before.has(name)) params.set(name, before.get(name));
  if (state.find) params.set("find", state.find);
  if (state.in !== "both") params.set("in", state.in);
  if (state.whole) params.set("whole", "1");
  if (query.words.length) params.set(`concordance-${query.side}`, query.words.join(" "));
  const wanted = [anchor(), params.toString()].filter(Boolean).join("&");
  if (wanted !== window.location.hash.slice(1)) {
    window.history.replaceState(
      null,
      "",
      `${window.location.href.split("#")[0]}${wanted ? `#${wanted}` : ""}`,
    );
  }
}

// The word or the cell of a pair that the address keeps, as in pin=t7 or pin=2-1.
export function readPin(pair) {
  const pin = new URLSearchParams(window.location.hash.slice(1)).get("pin") ?? "";
  const [, side, i] = /^([st])(\d{1,6})$/.exec(pin) ?? [];
  if (side) return Number(i) < pair[side].length ? { side, i: Number(i) } : null;
  const [, s, t] = (/^(\d{1,6})-(\d{1,6})$/.exec(pin) ?? []).map(Number);
  return s < pair.S && t < pair.T ? { s, t } : null;
}

export function readTheme() {
  const theme = new URLSearchParams(window.location.hash.slice(1)).get("theme");
  return ["light", "dark"].includes(theme) ? theme : null;
}

export function readAddress() {
  const params = new URLSearchParams(window.location.hash.slice(1));
  readQuery(params);
  if (!["find", "in", "whole"].some((key) => params.has(key))) return false;
  Object.assign(state, {
    find: params.get("find") ?? "",
    in: Object.hasOwn(SIDES, params.get("in") ?? "") ? params.get("in") : "both",
    whole: params.has("whole"),
  });
  return true;
}

// The words that the address names, which goTo draws if they are others.
function readQuery(params) {
  const side = ["s", "t"].find((one) => params.has(`concordance-${one}`));
  const words = wordsIn(params.get(`concordance-${side}`) ?? "");
  if (
    root.dataset.kind === "cards" ||
    !words.length ||
    (side === query.side && words.join(" ") === query.words.join(" "))
  ) {
    return;
  }
  Object.assign(query, { side, words, unit: null, from: null });
  byId("concordance").hidden = true;
}

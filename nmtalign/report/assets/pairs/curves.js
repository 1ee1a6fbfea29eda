// The words of a pair and the curves of its links: two lines, two columns, or for long pairs running text, in which
// the curves of a word are shown while it is pointed at.

const LONG = 60; // words; longer pairs are running text

function wordList(pair, side) {
  const linked = new Set([...(state.edit ? goldOf(pair) : pair.links).keys()].map((key) => positions(key)[side === "s" ? 0 : 1]));
  const words = pair[side].map((word, i) => {
    const alone = !linked.has(i), unknown = pair.u && pair.u[side === "s" ? 0 : 1].includes(i);
    const token = html("span", { role: "button", "aria-pressed": "false", class: `token${alone ? " alone" : ""}${unknown ? " unknown" : ""}`, tabindex: side === "s" && i === 0 ? 0 : -1, "data-side": side, "data-at": i }, word || "␣");
    if (alone) token.append(html("span", { class: "unseen" }, " (not linked)"));
    return html("li", {}, token);
  });
  const list = html("ol", { class: `words ${side === "s" ? "source" : "target"}`, dir: pair.rtl[side] ? "rtl" : "ltr", "aria-label": side === "s" ? "Source words" : "Target words" }, ...words);
  if (!words.length) list.append(html("li", {}, html("em", {}, "no words")));
  return list;
}

// How the words stand, and how wide that is: computed, for asking the page would lay it out.
function sizeOfWords(pair, room) {
  const type = onPaper() ? 12 : 15, line = (words) => words.reduce((sum, word) => sum + width(word, type) + 13, 0);
  const wide = Math.max(line(pair.s), line(pair.t));
  if (!state.down && wide <= room) return { layout: "across", wide };
  if (isLong(pair) && !onPaper()) return { layout: "text", wide: room > 520 && state.matrices ? 0.5 * room : room };
  return sizeOfColumns(pair, room);
}
function sizeOfColumns(pair, room) {
  const column = (words) => Math.min(room / 2, 12 + Math.max(0, ...words.map((word) => width(word, onPaper() ? 12 : 15))));
  return { layout: "down", wide: column(pair.s) + 128 + column(pair.t) };
}
const isLong = (pair) => Math.max(pair.S, pair.T) >= LONG;

function drawSentences(pair, card, layout, view) {
  const curves = svg("svg", { class: "curves", "aria-hidden": "true" }), across = layout !== "down";
  const box = html("div", { class: `sentences ${layout}`, "data-view": view }, wordList(pair, "s"), curves, wordList(pair, "t"));
  if (layout === "text") markDifferences(pair, box);
  box.addEventListener("pointerover", (event) => overWord(pair, card, event.target));
  box.addEventListener("focusin", (event) => overWord(pair, card, event.target));
  box.addEventListener("click", (event) => {
    const word = event.target.closest(".token");
    if (word && event.detail < 2 && chooseWord(pair, word)) return;
    overWord(pair, card, event.target);
    if (event.detail === 3) window.getSelection().selectAllChildren(event.target.closest(".words") ?? box);
  });
  box.addEventListener("pointerleave", () => unlight(card));
  box.addEventListener("focusout", () => unlight(card));
  box.addEventListener("keydown", (event) => moveFocus(pair, box, event, across));
  return box;
}

// In running text the words of wrong and missing links are underlined, for their curves are not always seen.
function markDifferences(pair, box) {
  for (const [key, kind] of drawnLinks(pair)) if (TAGS[kind]) key.split("-").forEach((at, side) => wordAt(box, "st"[side], at).classList.add(kind));
}
const wordAt = (box, side, at) => box.querySelector(`.token[data-side="${side}"][data-at="${at}"]`);

// Where the words of a box stand: the two ends of a curve between s and t, and how it bends.
function placesOf(box) {
  const text = box.classList.contains("text"), places = { s: [], t: [] };
  box.getBoundingClientRect(); // Chromium lays out a card that it has skipped, and tells 0 this first time
  const frame = box.querySelector(".curves").getBoundingClientRect();
  for (const token of box.querySelectorAll(".token")) places[token.dataset.side].push(token.getBoundingClientRect());
  const stacked = text && places.t[0]?.y >= places.s.at(-1)?.y, across = stacked || box.classList.contains("across");
  const end = (a, side) => {
    const edge = side === "s" ? [a?.right + 1, a?.bottom + 1] : [a?.x - 1, a?.y - 1];
    return across ? [a?.x + a?.width / 2 - frame.x, edge[1] - frame.y] : [edge[0] - frame.x, a?.y + a?.height / 2 - frame.y];
  };
  const bend = (from, to) => {
    const middle = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2];
    return { middle, d: `M${from} C${across ? [from[0], middle[1], to[0], middle[1]] : [middle[0], from[1], middle[0], to[1]]} ${to}` };
  };
  return { text, across, bend, ends: (s, t) => [end(places.s[s], "s"), end(places.t[t], "t")] };
}

function makeCurves(pair, box) {
  const curves = box.querySelector(".curves"), { text, ends, bend } = placesOf(box);
  const paths = [], marks = [];
  for (const [key, kind] of drawnLinks(pair)) {
    const [from, to] = ends(...positions(key));
    if (text && Math.abs(to[1] - from[1]) > 2 * window.innerHeight) continue;
    const { middle, d } = bend(from, to), p = (pair.links.get(key) ?? 600) / 1000;
    const about = { "data-link": key, d };
    paths.push(svg("path", { class: `link ${kind}`, "stroke-width": (1 + 1.6 * p).toFixed(2), ...about }));
    if (TAGS[kind]) marks.push(svg("text", { class: `tag ${kind}`, x: middle[0], y: middle[1], "data-link": key }, TAGS[kind]));
    marks.push(svg("path", { class: "hit-area", ...about }));
  }
  return () => curves.append(...paths, ...marks);
}

function light(card, chosen) {
  card.classList.add("lit");
  const links = drawnLinks(byNumber.get(card.id)).map(([key]) => key).filter(chosen).map((key) => key.split("-"));
  const on = { s: new Set(links.map(([s]) => s)), t: new Set(links.map(([, t]) => t)) };
  for (const node of card.querySelectorAll("[data-link]")) node.classList.toggle("on", chosen(node.dataset.link));
  for (const node of card.querySelectorAll("[data-side]")) node.classList.toggle("on", on[node.dataset.side].has(node.dataset.at));
}

function unlight(card) {
  card.classList.remove("lit");
  for (const node of card.querySelectorAll(".on")) node.classList.remove("on");
  for (const cursors of card.querySelectorAll(".cursors")) cursors.replaceChildren();
  showPinned(byNumber.get(card.id));
  hideTip();
}

function lightWord(pair, card, side, i) {
  light(card, (key) => positions(key)[side === "s" ? 0 : 1] === i);
  for (const node of card.querySelectorAll(`[data-side="${side}"][data-at="${i}"]`)) node.classList.add("on");
  for (const show of pair.bands ?? []) show(side, i);
  drawFan(pair, card, side, i);
}

function overWord(pair, card, node) {
  const link = node.dataset.link, word = node.closest(".token");
  if (!link && !word) return unlight(card);
  const words = node.closest(".sentences"), across = !words.classList.contains("down");
  const sides = !across ? ["right", "below", "above"] : word?.dataset.side === "t" ? ["below", "above"] : ["above", "below"];
  if (link) {
    clearFan(card);
    light(card, (key) => key === link);
    const [s, t] = positions(link);
    return showTip(boxOf(words, node), sides, explainCell(pair, s, t));
  }
  const { side, at } = word.dataset;
  lightWord(pair, card, side, Number(at));
  const free = boxOf(across ? word : words, word), fan = words.classList.contains("across") && boxOf(words);
  showTip(fan ? { ...free, [side === "s" ? "bottom" : "top"]: fan[side === "s" ? "bottom" : "top"] } : free, sides, explainWord(pair, side, Number(at)));
  word.setAttribute("aria-describedby", "tip");
}

// A selection within a pair is copied as sentences, a line each, without what the page says about their words.
function copySentences(event) {
  const chosen = window.getSelection(), inside = chosen.rangeCount && chosen.getRangeAt(0).commonAncestorContainer;
  const box = inside && (inside.nodeType === 1 ? inside : inside.parentElement).closest(".sentences");
  if (!box) return;
  const lines = [...box.querySelectorAll(".words")].map((list) => [...list.querySelectorAll(".token")].filter((word) => chosen.containsNode(word, true)).map((word) => word.firstChild.data).join(" "));
  event.clipboardData.setData("text/plain", lines.filter(Boolean).join("\n"));
  event.preventDefault();
}

// Arrow keys walk along a sentence and cross to the linked word of the other one.
function moveFocus(pair, box, event, across) {
  const { side, at } = event.target.dataset;
  if (event.key === "Escape") { pin(pair, null); return hideTip(); }
  if (side === undefined) return;
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); return chooseWord(pair, event.target) || overWord(pair, box.closest(".pair"), event.target); }
  const i = Number(at), along = across ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
  const turned = across && getComputedStyle(event.target.closest("ol")).direction === "rtl";
  let next = null;
  if (along.includes(event.key)) next = [side, i + (event.key === along[turned ? 0 : 1] ? 1 : -1)];
  else if (event.key === "Home" || event.key === "End") next = [side, event.key === "Home" ? 0 : pair[side].length - 1];
  else if (event.key.startsWith("Arrow")) {
    const key = drawnLinks(pair).map(([link]) => link.split("-")).find((link) => link[side === "s" ? 0 : 1] === at);
    const other = side === "s" ? "t" : "s";
    next = [other, key ? Number(key[side === "s" ? 1 : 0]) : Math.min(i, pair[other].length - 1)];
  }
  if (!next) return;
  event.preventDefault();
  if (wordAt(box, ...next)) focusWord(box, ...next);
}

function focusWord(box, side, i) {
  for (const old of box.querySelectorAll('.token[tabindex="0"]')) old.tabIndex = -1;
  Object.assign(wordAt(box, side, i), { tabIndex: 0 }).focus();
}

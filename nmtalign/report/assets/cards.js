// The list of cards: pairs are drawn when they come near the window, and put away when they are far.

const list = byId("list");
let room = 0; // width inside a card
function measureRoom() { room = list.clientWidth - (window.innerWidth > 600 || onPaper() ? 34 : 22); }
function makeCard(pair) {
  const facts = [`${pair.S} : ${pair.T} words`, `${pair.links.size} links`];
  if (pair.p !== null) facts.push(`score ${pair.p.toFixed(2)}`);
  if (pair.a !== null) facts.push(`AER ${percent(pair.a)}`);
  data.others.forEach((name, i) => facts.push(`F1 with ${name} ${percent(pair.d[i])}`));
  const head = html("header", {}, html("h3", { id: `head-${pair.n}` }, html("a", { href: `#pair-${pair.n}` }, `Pair ${pair.n}`)), ...facts.map((fact) => html("span", {}, fact)));
  const card = html("article", { class: "pair", id: `pair-${pair.n}`, "aria-labelledby": `head-${pair.n}` }, head, html("div", { class: "body" }));
  pair.card = card;
  card.style.containIntrinsicBlockSize = `auto ${guessHeight(pair)}px`;
  putAway(pair);
  return card;
}

function guessHeight(pair) {
  const wide = Math.max(...[pair.s, pair.t].map((words) => words.join("  ").length * 8));
  if (isLong(pair)) return 90 + Math.max(state.matrices ? 420 : 0, (2 * 25 * wide) / (state.matrices ? room / 2 : room));
  const words = wide < room ? 136 : Math.max(pair.S, pair.T) * 24.8, cell = clamp(440 / Math.max(pair.S, pair.T, 1), 11, 27);
  const matrix = state.matrices ? pair.T * cell + 105 : 0;
  return 60 + (wide < 0.5 * room || wide > room ? Math.max(words, matrix) : words + matrix);
}

function putAway(pair) {
  pair.drawn = false;
  pair.card.lastChild.replaceChildren(html("div", {}, html("p", { class: "plain" }, pair.s.join(" ")), html("p", { class: "plain" }, pair.t.join(" "))));
}

function drawWords(pair) {
  const { layout, wide } = sizeOfWords(pair), left = room - wide - 36;
  pair.drawn = true;
  pair.card.classList.toggle("long", isLong(pair) && layout !== "across");
  pair.card.classList.toggle("narrow", layout === "down");
  pair.card.lastChild.replaceChildren(drawSentences(pair, pair.card, layout));
  markFound(pair);
  if (state.matrices && !onPaper()) pair.card.lastChild.append(drawMatrix(pair, pair.card, fitsBeside(pair, left) ? left : room));
}

// Whether the matrix has room beside the words, with cells that can be pointed at.
function fitsBeside(pair, space) {
  if (isLong(pair)) return space > 200;
  const g = matrixSizes(pair, space);
  return g.cell >= 12 && g.left + pair.S * g.cell + 8 <= space;
}

// All words first, then all places of words, then all curves: the page is laid out once.
function draw(...chosen) {
  chosen.forEach(drawWords);
  for (const append of chosen.map((pair) => makeCurves(pair, pair.card))) append();
}

const near = new IntersectionObserver((entries) => {
  const come = [];
  for (const { target, isIntersecting } of entries) {
    const pair = byNumber.get(target.id);
    if (isIntersecting && !pair.drawn) come.push(pair);
    else if (!isIntersecting && pair.drawn && !target.contains(document.activeElement)) putAway(pair);
  }
  draw(...come);
}, { rootMargin: "900px 0px" });

function redraw() { draw(...pairs.filter((pair) => pair.drawn)); }

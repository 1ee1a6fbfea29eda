// The pairs of the report, read from the JSON in #data. Words reach the page as text nodes only, never as markup.
// Letters: s source position, t target position, S and T their counts; weights[t * S + s].
const data = JSON.parse(document.getElementById("data").textContent);
const colours = data.colours;
const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const state = { view: "combined", beside: "none", edit: false, compare: data.compare, find: "", in: "both", whole: false, only: false, matrices: root.dataset.kind === "cards" || window.innerWidth > 600, linear: false, down: false };
const onPaper = () => "paper" in root.dataset;

// ---- small helpers -------------------------------------------------------------------------------------

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== false) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
}
const html = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
const quote = (word) => `\u2068‘${word}’\u2069`; // isolates keep right-to-left words inside their quotes
const share = (p) => (p < 0.005 && p > 0 ? "< 0.01" : p.toFixed(2));
const percent = (x) => `${(100 * x).toFixed(1)} %`;
const shorten = (word, longest) => (word.length > longest ? `${word.slice(0, longest / 2)}…${word.slice(-longest / 2)}` : word);
const ruler = document.createElement("canvas").getContext("2d"), widths = new Map();
ruler.font = '100px system-ui, "Noto Sans", sans-serif';
function width(text, size) {
  if (!widths.has(text)) widths.set(text, ruler.measureText(text).width / 100);
  return widths.get(text) * size;
}
// ---- pairs ---------------------------------------------------------------------------------------------

function decode(packed, S, T) {
  const [low, high, bytes] = packed;
  const raw = atob(bytes), weights = new Float32Array(S * T).fill(low);
  for (let i = 0, cell = 0; i < raw.length; i++) {
    const level = raw.charCodeAt(i);
    if (level) weights[cell++] = low + ((high - low) * level) / 255;
    else cell += raw.charCodeAt(++i); // a zero is followed by the number of zeros
  }
  return weights;
}

function flatSet(flat, step = 2) {
  const map = new Map();
  for (let i = 0; i < flat.length; i += step) map.set(`${flat[i]}-${flat[i + 1]}`, step === 3 ? flat[i + 2] : 1);
  return map;
}

// As dir="auto": the first letter tells.
function isRightToLeft(words) {
  const letter = words.join(" ").match(/\p{L}/u);
  return letter !== null && /[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}]/u.test(letter[0]);
}

function readPair(raw) {
  const pair = { ...raw, S: raw.s.length, T: raw.t.length, rtl: { s: isRightToLeft(raw.s), t: isRightToLeft(raw.t) } };
  pair.links = flatSet(raw.l, 3); // "s-t" -> probability in thousandths
  pair.gold = raw.g ? flatSet(raw.g, 3) : null; // "s-t" -> 1 sure, 0 possible
  pair.others = raw.o.map((flat) => flatSet(flat));
  return pair;
}
const pairs = data.pairs.map(readPair);
const byNumber = new Map(pairs.map((pair) => [`pair-${pair.n}`, pair]));

// A view names weights: combined, forward, reverse, a head; or links as weights of 1: =links, =gold, =0 (another system).
function weightsOf(pair, view) {
  pair.decoded ??= {};
  return (pair.decoded[view] ??= pair.m[view] ? decode(pair.m[view], pair.S, pair.T) : cellsOf(pair, linksOf(pair, view)));
}
const linksOf = (pair, view) => (view === "=links" ? pair.links : view === "=gold" ? pair.gold : pair.others[view.slice(1)]);
const hasView = (pair, view) => Boolean(pair.m[view] ?? (view[0] === "=" && linksOf(pair, view)));
const viewOf = (pair) => (hasView(pair, state.view) ? state.view : "combined");
const besideOf = (pair) => (!onPaper() && hasView(pair, state.beside) && state.beside !== viewOf(pair) ? state.beside : null);
const nameOf = (view) => (view[0] !== "=" ? view : data.others[view.slice(1)] ?? (view === "=gold" ? "gold" : "links"));
function cellsOf(pair, links) {
  const cells = new Float32Array(pair.S * pair.T);
  for (const key of links.keys()) { const [s, t] = positions(key); cells[t * pair.S + s] = 1; }
  return cells;
}
const positions = (key) => key.split("-").map(Number);

// The links to draw, each with its kind under the chosen comparison.
function drawnLinks(pair) {
  return state.edit ? [...goldOf(pair)].map(([key, sure]) => [key, sure ? "sure" : "maybe"]) : comparedLinks(pair);
}
function comparedLinks(pair) {
  const ours = [...pair.links.keys()];
  if (state.compare === "gold" && pair.gold) {
    const missed = [...pair.gold].filter(([key, sure]) => sure && !pair.links.has(key)).map(([key]) => [key, "missed"]);
    return [...ours.map((key) => [key, pair.gold.has(key) ? "hit" : "wrong"]), ...missed];
  }
  const other = pair.others[state.compare];
  if (!other) return ours.map((key) => [key, "both"]);
  return [...ours.map((key) => [key, other.has(key) ? "both" : "only"]), ...[...other.keys()].filter((key) => !pair.links.has(key)).map((key) => [key, "other"])];
}
const differs = (pair) => comparedLinks(pair).some(([, kind]) => ["wrong", "missed", "only", "other"].includes(kind));
const TAGS = { wrong: "×", missed: "+", only: "A", other: "B" };

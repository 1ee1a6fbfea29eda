// What all parts share: the data in #data, the state of the tools, elements and small helpers. Words reach the page
// as text nodes only, never as markup.

import { makeRows } from "./rows.js";

export const byId = (id) => document.getElementById(id);

// Bytes that zlib has compressed, in base64.
export async function inflate(text) {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < packed.length; i++) bytes[i] = packed.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const data = JSON.parse(new TextDecoder().decode(await inflate(byId("data").textContent)));
data.levels = await inflate(byId("weights").textContent);
data.pairs = makeRows(data.pairs, data.levels);
export const root = document.documentElement;
byId("static").remove(); // what is read without this script
root.dataset.begun = "";
export const state = {
  view: data.usual,
  beside: data.others.length && root.dataset.kind === "report" ? "=0" : "none",
  several: false, // whether further words are held in a card that is edited
  compare: data.compare,
  find: "",
  in: "both",
  whole: false,
  matrices: true,
  linear: false,
  down: false,
};
export const onPaper = () => "paper" in root.dataset;
export const manyOnPaper = () => root.dataset.paper === "many"; // so many pairs that they are printed small

// Elements of HTML and SVG with attributes and children; null is skipped.
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export const html = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
export const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// Letters that are written from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko and others.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

// The direction of a text, which its first letter determines, as for dir="auto"; without a letter it is another one.
export function directionOf(text, other = "ltr") {
  const letter = text.match(/\p{L}/u);
  return letter === null ? other : RIGHT_TO_LEFT.test(letter[0]) ? "rtl" : "ltr";
}

// A word inside a text from left to right, so that its brackets face as in its own sentence.
export function isolate(word, direction) {
  const turned = directionOf(word, direction) === "rtl" && /[^\p{L}\p{M}]/u.test(word);
  return turned ? `\u2067${word}\u2069` : word;
}

// The characters that a reader sees: an emoji of several code points, or a letter with its marks, is one.
const segmenter = window.Intl.Segmenter ? new Intl.Segmenter("en", { granularity: "grapheme" }) : null;
const CLUSTER = /\P{M}(?:\p{M}|\p{Emoji_Modifier}|\u200c|\u200d\P{M}?)*|\p{M}+/gsu; // for older browsers
const charactersOf = (word) =>
  segmenter ? [...segmenter.segment(word)].map(({ segment }) => segment) : (word.match(CLUSTER) ?? []);

// A word, or both ends of a long one.
export function shortenWord(word, longest) {
  if (word.length <= longest) return word;
  const characters = charactersOf(word);
  if (characters.length <= longest) return word;
  const half = Math.floor(longest / 2);
  return `${characters.slice(0, half).join("")}…${characters.slice(-half).join("")}`;
}

// A word in quotes, which are double where an apostrophe at its edge would look like one; isolates keep words that are
// written from right to left inside them.
export function quote(word) {
  const [open, close] = /^['’‘]|['’‘]$/.test(word) ? "“”" : "‘’";
  return `${open}\u2068${word}\u2069${close}`;
}
export const share = (p) => (p < 0.005 && p > 0 ? "< 0.01" : p.toFixed(2));

// A probability in whole percents, which says where rounding would make it certain; a no-break space precedes "%".
export function wholePercent(p) {
  if (p > 0 && p < 0.005) return "<\u00a01\u00a0%";
  if (p < 1 && p >= 0.995) return ">\u00a099\u00a0%";
  return `${Math.round(100 * p)}\u00a0%`;
}

// "1 link", "2 links"
export const counted = (count, name) => `${count} ${name}${count === 1 ? "" : "s"}`;

export const percent = (x) => (x === null ? "–" : `${(100 * x).toFixed(1)} %`);

// The name of a side of the pairs: its language where that is known.
export const nameOfSide = (k) => data.names[k];
export const languages = () => (data.languages.every(Boolean) ? data.names.join(" → ") : "");

export const lower = (word) => word.normalize("NFC").toLowerCase();
export const unseen = (text) => html("span", { class: "unseen" }, text);

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();
ruler.font = '100px system-ui, "Noto Sans", sans-serif';

export function width(text, size) {
  if (!widths.has(text)) widths.set(text, ruler.measureText(text).width / 100);
  return widths.get(text) * size;
}

export const list = byId("list");
export let room = 0; // width inside a card

const MAX_CARD_WIDTH = 1240;
const PADDING = { wide: 33, medium: 25, narrow: 17 }; // of a card, with its border, as in the style sheet
export let cardSize = "wide";

export function measureRoom() {
  const cardWidth = Math.min(list.clientWidth, MAX_CARD_WIDTH);
  cardSize = cardWidth >= 900 ? "wide" : cardWidth >= 560 ? "medium" : "narrow";
  root.dataset.size = cardSize;
  room = cardWidth - 2 * (onPaper() ? PADDING.narrow : PADDING[cardSize]);
}

export const bar = byId("bar");
export const wideWindow = window.matchMedia("(min-width: 1081px)"); // as in the style sheet
export const barHeight = () => (getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0);

// Scroll to a part, or until its top is where it was, and again when what lies before it has been drawn.
export function settle(part, top = null) {
  if (!part) return;
  let rounds = 6;
  const again = () => {
    if (top === null) part.scrollIntoView();
    else window.scrollBy(0, part.getBoundingClientRect().top - top);
    if (--rounds) requestAnimationFrame(again);
  };
  again();
}

export function download(name, lines, type = "text/plain") {
  const address = URL.createObjectURL(new Blob(lines, { type }));
  html("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

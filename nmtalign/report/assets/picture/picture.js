// The picture of a card as it is seen, but always 1100 pixels wide: SVG, whose text stays text, or PNG, twice as large.

import { data, languages, list, measureRoom, shortenWord, svg, width } from "../page.js";

const WIDTH = 1100;
const PNG_SCALE = 2;
const FOOT_EDGE = 33; // pixels, as in the style sheet
const FOOT = 20; // height of the line below the card
const FOOT_SIZE = 12;
const AS_SEEN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight"];
const OF_TEXT = ["text-anchor", "dominant-baseline", "paint-order"];
const NOT_DRAWN = ".hit-area, .unseen, .card-tools, .panel, .review, .hint, .first";

// Lay the page out for the width of the picture, draw the card, and put everything back before it is seen.
export function drawPicture(pair, redraw) {
  const { scrollX, scrollY } = window;
  const panes = [...pair.card.querySelectorAll(".pan")].map(({ scrollLeft, scrollTop }) => [scrollLeft, scrollTop]);
  const layOut = (width) => {
    list.style.width = width;
    measureRoom();
    redraw();
    pair.card.querySelectorAll(".pan").forEach((pan, i) => panes[i] && pan.scrollTo(...panes[i]));
  };
  layOut(`${WIDTH}px`);
  const picture = copyCard(pair.card);
  layOut("");
  window.scrollTo(scrollX, scrollY);
  return picture;
}

function copyCard(card) {
  const frame = card.getBoundingClientRect();
  const textOf = (css) => card.querySelector(css)?.textContent ?? "";
  const size = { width: frame.width, height: frame.height + FOOT };
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, ...size, "font-family": "system-ui, Noto Sans, sans-serif" },
    svg("title", {}, textOf(".headline") || textOf("h3")),
    svg("desc", {}, textOf(".say")),
    svg("rect", { ...size, fill: getComputedStyle(card).backgroundColor }),
  );
  copyParts(card, picture, frame);
  const place = { x: FOOT_EDGE, y: frame.height, "font-size": FOOT_SIZE };
  const fill = getComputedStyle(card.querySelector("header")).color;
  picture.append(svg("text", { ...place, fill }, footOf(frame.width - 2 * FOOT_EDGE)));
  return picture;
}

// What the pair is of, and made by what, as far as there is room for it.
function footOf(room) {
  const told = data.about ?? [languages(), data.own ?? ""];
  const text = ["nmtalign", ...told.filter(Boolean)].join(" · ");
  return shortenWord(text, Math.floor((text.length * room) / Math.max(room, width(text, FOOT_SIZE))));
}

export const asText = (picture) => new XMLSerializer().serializeToString(picture);

export async function asPng(picture) {
  const image = new window.Image();
  image.src = URL.createObjectURL(new Blob([asText(picture)], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = document.createElement("canvas");
  canvas.width = PNG_SCALE * image.width;
  canvas.height = PNG_SCALE * image.height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

// What is seen of an element: grounds, bars, drawings and lines of text.
function copyParts(node, picture, frame) {
  for (const child of node.childNodes) {
    if (child.nodeType === 3) copyText(child, picture, frame);
    if (child.nodeType !== 1 || child.matches(NOT_DRAWN)) continue;
    const { display, visibility } = getComputedStyle(child);
    if (display === "none" || visibility === "hidden") continue;
    if (child.matches("svg")) copyDrawing(child, picture, frame);
    else {
      copyGround(child, picture, frame);
      copyParts(child, picture, frame);
    }
  }
}

function copyGround(node, picture, frame) {
  const { backgroundColor: fill, borderRadius, borderTopWidth, borderTopColor } = getComputedStyle(node);
  const box = node.getBoundingClientRect();
  const place = { x: box.x - frame.x, y: box.y - frame.y, height: box.height };
  const clear = fill === "rgba(0, 0, 0, 0)";
  if (!clear) picture.append(svg("rect", { ...place, width: box.width, fill, rx: parseFloat(borderRadius) || 0 }));
  const height = parseFloat(borderTopWidth);
  if (height) picture.append(svg("rect", { ...place, width: box.width, height, fill: borderTopColor }));
  if (!node.matches(".track")) return;
  const share = parseFloat(node.style.getPropertyValue("--v")) / 100;
  const [, color] = /(rgba?\([^)]*\))/.exec(getComputedStyle(node).backgroundImage) ?? [];
  picture.append(svg("rect", { ...place, width: box.width * share, fill: color ?? "currentcolor", rx: 2 }));
}

// A text node, a line at a time.
function copyText(node, picture, frame) {
  const range = document.createRange();
  const style = getComputedStyle(node.parentElement);
  const lines = [];
  for (const { 0: word, index } of node.data.matchAll(/\S+\s*/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.trimEnd().length);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    const line = lines.at(-1);
    if (line && Math.abs(line.box.y - box.y) < 4) line.text += word;
    else lines.push({ text: word, box });
  }
  const turned = style.direction === "rtl" || node.parentElement.dir === "rtl";
  for (const { text, box } of lines) {
    const about = {
      x: (turned && lines.length === 1 ? range.getBoundingClientRect().x : box.x) - frame.x,
      y: box.y + box.height / 2 - frame.y,
      fill: style.color,
      "font-size": style.fontSize,
      "font-weight": style.fontWeight,
      "dominant-baseline": "central",
    };
    picture.append(svg("text", about, text.trimEnd()));
  }
}

// A copy of a drawing with the style that it is seen with.
function copyDrawing(drawing, picture, frame) {
  const at = drawing.getBoundingClientRect();
  const group = svg("g", {});
  for (const child of drawing.children) copyShape(child, group);
  const pan = drawing.closest(".pan");
  if (!pan) {
    group.setAttribute("transform", `translate(${at.x - frame.x} ${at.y - frame.y})`);
    return picture.append(group);
  }
  const seen = pan.getBoundingClientRect(); // of a large matrix only a part
  group.setAttribute("transform", `translate(${at.x - seen.x} ${at.y - seen.y})`);
  const place = { x: seen.x - frame.x, y: seen.y - frame.y, width: seen.width, height: seen.height };
  return picture.append(svg("svg", place, group));
}

function copyShape(node, into) {
  const style = getComputedStyle(node);
  if (node.matches(NOT_DRAWN) || style.display === "none" || style.visibility === "hidden") return;
  const copy = node.cloneNode(false);
  for (const name of ["class", "lang", "data-link", "data-side", "data-at"]) copy.removeAttribute(name);
  if (node.matches("g")) {
    for (const child of node.children) copyShape(child, copy);
    return into.append(copy);
  }
  for (const name of [...AS_SEEN, "fill-opacity"]) copy.setAttribute(name, style.getPropertyValue(name));
  if (node.matches("text")) {
    for (const name of OF_TEXT) copy.setAttribute(name, style.getPropertyValue(name));
    copy.textContent = node.textContent;
  }
  return into.append(copy);
}

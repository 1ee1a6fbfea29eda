// Where marks and labels of the curves of a box are, so that none is on another one.

import { width } from "../page.js";

const HALF_LINE = 8; // half of the height of a label
export const TAG_SIZE = 15; // pixels, as in the style sheet
export const LABEL_SIZE = 12;
// Where along its curve a label is, the middle first.
const PLACES = [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8];

// The place of a Bézier curve at t, from 0 to 1.
const pointAt = ([a, b, c, d], t) => {
  const u = 1 - t;
  return [0, 1].map((k) => u * u * u * a[k] + 3 * u * u * t * b[k] + 3 * u * t * t * c[k] + t * t * t * d[k]);
};

export const placesAlong = (points) => PLACES.map((t) => pointAt(points, t));

// The box of a text: [left, top, right, bottom].
export function boxOf(text, size, place, anchor = "middle") {
  const [x, y] = place;
  const wide = width(text, size);
  const left = anchor === "middle" ? x - wide / 2 : anchor === "end" ? x - wide : x;
  return [left - 1, y - HALF_LINE, left + wide + 1, y + HALF_LINE];
}

export const touch = (a, b) => a[0] < b[2] && a[2] > b[0] && a[1] < b[3] && a[3] > b[1];

const shared = (a, b) =>
  Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));

// The first of some places whose box covers the least of those that are taken, which it then is. Whole square pixels
// are compared, so that rounding does not decide between equally good places.
export function takePlace(places, boxAt, taken) {
  let best = { covered: Infinity, place: places[0], box: boxAt(places[0]) };
  for (const place of places) {
    const box = boxAt(place);
    const covered = Math.round(taken.reduce((sum, other) => sum + shared(box, other), 0));
    if (covered < best.covered) best = { covered, place, box };
    if (!covered) break;
  }
  taken.push(best.box);
  return best.place;
}

// Small boxes along a curve, which a label beside it does not touch.
const boxesAlong = (points) =>
  Array.from({ length: 25 }, (_, n) => pointAt(points, n / 24)).map(([x, y]) => [x - 3, y - 3, x + 3, y + 3]);

const drawnIn = new WeakMap(); // the sentences of a panel -> the boxes of their curves, and of the marks on these
export const keepDrawn = (sentences, curves, marks) =>
  drawnIn.set(sentences, { curves: curves.flatMap(boxesAlong), marks });
export const marksIn = (sentences) => [...(drawnIn.get(sentences)?.marks ?? [])];
export const drawnBoxes = (sentences) => [...(drawnIn.get(sentences)?.curves ?? []), ...marksIn(sentences)];

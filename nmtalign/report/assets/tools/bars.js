// The pairs behind a bar of a plot. The bars are counted where the report is made; here a bar that is chosen is counted
// again, from what the page knows of each pair.

import { pairs, positions } from "../pairs/pairs.js";

const MOST_JUMP = 5; // as in the labels of the plots
const MOST_LINKS = 5;

const clip = (value, low, high) => Math.min(high, Math.max(low, value));
const binOfShare = (share) => clip(Math.floor(10 * share), 0, 9);

function linksPerWord(pair, side, size) {
  const counts = Array(size).fill(0);
  for (const key of pair.links.keys()) counts[positions(key)[side]] += 1;
  return counts.map((count) => Math.min(count, MOST_LINKS));
}

// From the first partner of a linked target word to that of the next one.
function jumpsOf(pair) {
  const first = new Map();
  for (const [s, t] of [...pair.links.keys()].map(positions)) first.set(t, Math.min(s, first.get(t) ?? s));
  const partners = [...first].sort(([a], [b]) => a - b).map(([, s]) => s);
  return partners.slice(1).map((s, i) => clip(s - partners[i], -MOST_JUMP, MOST_JUMP) + MOST_JUMP);
}

function binOfScore(score) {
  const scores = pairs.map(({ p }) => p).filter((p) => p !== null);
  const low = scores.reduce((a, b) => Math.min(a, b));
  const high = scores.reduce((a, b) => Math.max(a, b));
  if (low >= 0 && high <= 1) return binOfShare(score);
  return clip(Math.floor((10 * (score - low)) / (high - low || 1)), 0, 9);
}

const unknownShare = ({ u, S, T }) => (u ? u[0].length + u[1].length : 0) / Math.max(1, S + T);

// Of each plot, the bins of the values of a pair.
const BINS = {
  "Pair scores": (pair) => (pair.p === null ? [] : [binOfScore(pair.p)]),
  "Link probabilities": (pair) => [...pair.links.values()].map((p) => binOfShare(p / 1000)),
  "Jump widths": jumpsOf,
  "Links of a source word": (pair) => linksPerWord(pair, 0, pair.S),
  "Links of a target word": (pair) => linksPerWord(pair, 1, pair.T),
  "Unknown words": (pair) => [binOfShare(unknownShare(pair))],
};

export const pairsOfBar = (title, i) => pairs.filter((pair) => BINS[title](pair).includes(i));

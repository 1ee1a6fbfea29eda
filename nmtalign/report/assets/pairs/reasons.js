// Why a link was made or not: { headline, say, groups, both, notes }. `say` is a list of strings and of [word, kind],
// which is emphasized; `groups` are bars of what two words look at; `both` is the bar of both directions together.

import { counted, data, isolate, nameOfSide, quote, share, shortenWord } from "../page.js";
import { judge } from "../panels.js";
import { OTHER, besideOf, positions, toldView, viewOf, weightsOf } from "./pairs.js";
import { attentionOf, directionView, isShare, tellAttention, tellWeight } from "./attention.js";

const SHOWN_PARTNERS = 2; // words of a group of bars, before "no partner" and "the rest"
const CLOSE_CALLS = 6;
const MAX_NAME = 8; // characters of a word of a close call; longer ones keep both ends

const wordOf = (pair, side, i) => quote(pair.shown[side][i]);

// The posterior decides whether a cell is a link; what a link needs is compared with it.
const posteriorOf = (pair, s, t) => weightsOf(pair, "combined")[t * pair.S + s];

// The probability of a link is calibrated: it says what the link is worth. Other cells have the posterior only.
const probabilityOf = (pair, s, t) =>
  pair.links.has(`${s}-${t}`) ? pair.links.get(`${s}-${t}`) / 1000 : posteriorOf(pair, s, t);

export const tellProbability = (pair, s, t) => tellWeight("combined", probabilityOf(pair, s, t));

const judgedKind = (pair, s, t) => {
  const key = `${s}-${t}`;
  const judged = pair.gold ? judge(pair, pair.links, key) : "";
  return judged || (pair.links.has(key) ? "right" : "");
};

// ---- what a word looks at --------------------------------------------------------------------------------

function looksAt(pair, side, i, partner) {
  const view = directionView(pair, side);
  const { weights, none } = attentionOf(pair, side, i, view);
  const ranked = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);
  const shown = ranked.slice(0, SHOWN_PARTNERS);
  if (partner !== null && !shown.includes(partner)) shown.push(partner);
  const bars = shown.map((j) => ({
    name: pair.shown[OTHER[side]][j],
    share: weights[j],
    told: tellWeight(view, weights[j]),
  }));
  const shares = isShare(view);
  const knowsNone = view !== "combined" && Boolean(side === "s" ? pair.ns : pair.nt);
  if (knowsNone) bars.push({ name: "no partner", share: none, told: tellWeight(view, none), dim: true });
  bars.sort((a, b) => b.share - a.share);
  const rest = 1 - bars.reduce((sum, bar) => sum + bar.share, 0);
  const isWhole = shares && view !== "combined" && weights.length > shown.length;
  if (isWhole && rest >= 0.005) bars.push({ name: "the rest", share: rest, told: tellWeight(view, rest), dim: true });
  const names = [nameOfSide(0), nameOfSide(1)];
  if (side === "t") names.reverse();
  return { head: `${wordOf(pair, side, i)} looks at`, note: names.join(" → "), bars };
}

// "For ‘le’, ‘the’ is likelier (90 %) than ‘black’ (0 %)."
function preference(pair, s, t, side) {
  const view = directionView(pair, side);
  const w = weightsOf(pair, view);
  const best = side === "t" ? pair.bf[t] : pair.br[s];
  const [i, j] = side === "t" ? [t, s] : [s, t];
  const here = tellWeight(view, w[t * pair.S + s]);
  const seen = `For ${wordOf(pair, side, i)}, `;
  const than = `${wordOf(pair, OTHER[side], j)} (${here})`;
  if (best < 0) {
    const none = (side === "t" ? pair.nt[t] : pair.ns[s]) / 1000;
    return `${seen}having no partner is likelier (${tellWeight(view, none)}) than ${than}. `;
  }
  const there = tellWeight(view, side === "t" ? w[t * pair.S + best] : w[best * pair.S + s]);
  return `${seen}${wordOf(pair, OTHER[side], best)} is likelier (${there}) than ${than}. `;
}

// ---- a cell ----------------------------------------------------------------------------------------------

// The side whose word is linked as a second word, and the neighbor beside which it is; null for other links.
function secondWord(pair, s, t) {
  const least = data.rule.threshold - 1 / 510; // weights are in 255ths
  const p = weightsOf(pair, "combined");
  const likely = (a, b) => pair.links.has(`${a}-${b}`) && p[b * pair.S + a] >= least;
  const signs = [pair.s[s], pair.t[t]].some((word) => !/[\p{L}\p{N}]/u.test(word));
  if (data.rule.second === null || likely(s, t) || signs) return null;
  for (const k of [t - 1, t + 1]) {
    if (likely(s, k) && !pair.s.some((_, a) => likely(a, t))) return ["t", pair.shown.t[k]];
  }
  for (const k of [s - 1, s + 1]) {
    if (likely(k, t) && !pair.t.some((_, b) => likely(s, b))) return ["s", pair.shown.s[k]];
  }
  return null;
}

// Words without a vector; a hidden Markov model, which shows no scores, places one of them by its neighbors.
function lackingVectors(pair, s, t) {
  const found = [["s", s], ["t", t]].filter(([side, at]) => pair.u?.[side === "s" ? 0 : 1].includes(at));
  if (found.length === 2) return ["Neither word has a vector. "];
  return pair.m.scores ? found.map(([side, at]) => `${wordOf(pair, side, at)} has no vector. `) : [];
}

function choiceOf(pair, s, t) {
  const row = pair.bf[t] === s;
  const column = pair.br[s] === t;
  if (row && column) return ["Each is the other’s first choice. "];
  return [...(row ? [] : [preference(pair, s, t, "t")]), ...(column ? [] : [preference(pair, s, t, "s")])];
}

function tellSecondWord(pair, s, t, second) {
  const view = second[0] === "t" ? "forward" : "reverse";
  const weight = weightsOf(pair, view)[t * pair.S + s];
  const has = tellWeight(view, weight);
  const word = second[0] === "t" ? wordOf(pair, "t", t) : wordOf(pair, "s", s);
  const needed = `a second word needs ${tellWeight(view, data.rule.second)}`;
  if (pair.links.has(`${s}-${t}`)) {
    if (weight < data.rule.second - 1 / 510) {
      return `${word} is next to ${quote(second[1])}, with which it is an expression in a dictionary. `;
    }
    return `${word} is a second word: it has no other link and is next to ${quote(second[1])}, and it looks at this ` +
      `word with ${has}; ${needed}. `;
  }
  return `As a second word next to ${quote(second[1])}, ${word} has ${has}; ${needed}. `;
}

// "Together that makes a posterior of 17 %; a link needs 55 %."
function tellTogether(pair, s, t, second) {
  const limit = data.rule.threshold;
  const p = posteriorOf(pair, s, t);
  const told = [tellWeight("combined", p), null];
  const verb = "forward" in pair.m && "reverse" in pair.m ? "Together that makes a posterior of " : "Its weight is ";
  const linked = pair.links.has(`${s}-${t}`);
  if (limit === null || (linked && (second || p < limit))) return [verb, told, ". "];
  const needs = `; a link needs ${tellWeight("combined", limit)}`;
  if (!linked && p >= limit) return [verb, told, `${needs}, but other links were chosen. `];
  return [verb, told, `${needs}. `];
}

// "The probability of the link is 45 %.", unless that is the posterior.
function tellWorth(pair, s, t) {
  const told = tellProbability(pair, s, t);
  const isSame = told === tellWeight("combined", posteriorOf(pair, s, t));
  return isSame || !pair.links.has(`${s}-${t}`) ? [] : ["The probability of the link is ", [told, null], ". "];
}

function tellGold(pair, s, t) {
  if (!pair.gold) return [];
  const key = `${s}-${t}`;
  const linked = pair.links.has(key);
  if (!pair.gold.has(key)) {
    if (linked) return ["The gold standard does not link them: ", ["wrong", "wrong"], "."];
    return ["The gold standard does not link them, either."];
  }
  const possible = pair.gold.get(key) ? "" : ", as a possible link";
  if (linked) return [`The gold standard links them, too${possible}: `, ["right", "link"], "."];
  if (possible) return ["The gold standard has this link as a possible one."];
  return ["The gold standard links them: ", ["a missed link", "missed"], "."];
}

// The score of two words, and the best that one of them has with another word.
function tellScore(pair, s, t) {
  const scores = weightsOf(pair, "scores");
  const [low, high] = pair.m.scores;
  const digits = Math.max(0, 2 - Math.floor(Math.log10(high - low || 1)));
  const at = (a, b) => scores[b * pair.S + a];
  const rivals = [...pair.t.keys()].filter((b) => b !== t).map((b) => [s, b]);
  rivals.push(...[...pair.s.keys()].filter((a) => a !== s).map((a) => [a, t]));
  const known = rivals.filter(([a, b]) => !pair.u?.[0].includes(a) && !pair.u?.[1].includes(b));
  if (!known.length) return `Score ${at(s, t).toFixed(digits)}.`;
  const [a, b] = known.reduce((best, next) => (at(...next) > at(...best) ? next : best));
  const next = `${wordOf(pair, "s", a)} – ${wordOf(pair, "t", b)} with ${at(a, b).toFixed(digits)}`;
  return `Score ${at(s, t).toFixed(digits)}; next best is ${next}.`;
}

// Views other than the directions, other systems, and the rule.
function notesOf(pair, s, t) {
  const notes = [];
  const at = t * pair.S + s;
  const chosen = [viewOf(pair), besideOf(pair)].filter((view) => pair.m[view]);
  const others = chosen.filter((view) => !["combined", "forward", "reverse", "scores"].includes(view));
  for (const view of new Set(others)) notes.push(`${toldView(view)}: ${tellWeight(view, weightsOf(pair, view)[at])}.`);
  if (pair.m.scores) notes.push(tellScore(pair, s, t));
  const told = data.others.map((name, i) => `${name}: ${pair.others[i]?.has(`${s}-${t}`) ? "linked" : "not linked"}`);
  if (told.length) notes.push(`${told.join("; ")}.`);
  if (data.rule.name === "posterior" && "forward" in pair.m && "reverse" in pair.m) {
    notes.push("The combined value is not the mean, because each direction by itself is overconfident.");
  } else if (data.rule.name) notes.push(`Links are chosen by the rule “${data.rule.name}”.`);
  return notes;
}

const VERDICTS = { right: "link", wrong: "wrong", missed: "missed" }; // kinds of colors

// A second word is linked by what it looks at in one direction.
function tellNeeds(limit) {
  const needs = `a link needs a posterior of ${tellWeight("combined", limit)}`;
  return data.rule.second === null ? needs : `${needs}, a second word less`;
}

function bothOf(pair, s, t) {
  if (!isShare("combined")) return null;
  const limit = data.rule.threshold;
  return {
    head: "forward" in pair.m && "reverse" in pair.m ? "Both together" : "Weight",
    share: posteriorOf(pair, s, t),
    told: tellWeight("combined", posteriorOf(pair, s, t)),
    kind: VERDICTS[judgedKind(pair, s, t)] ?? "",
    limit,
    needs: limit === null ? "" : tellNeeds(limit),
  };
}

function headlineOf(pair, s, t) {
  const words = `${wordOf(pair, "s", s)} – ${wordOf(pair, "t", t)}`;
  const kind = judgedKind(pair, s, t);
  if (kind === "missed") return `${words} is a missed link`;
  if (kind === "wrong") return `${words} is a link: wrong`;
  return `${words} is ${kind ? "a" : "no"} link`;
}

function reasonOfCell(pair, s, t, first = "t") {
  const second = secondWord(pair, s, t);
  const say = [
    ...lackingVectors(pair, s, t),
    ...choiceOf(pair, s, t),
    ...(second ? [tellSecondWord(pair, s, t, second)] : []),
    ...tellTogether(pair, s, t, second),
    ...tellWorth(pair, s, t),
    ...tellGold(pair, s, t),
  ];
  const groups = [looksAt(pair, "t", t, s), looksAt(pair, "s", s, t)];
  if (first === "s") groups.reverse();
  return { say, groups, both: bothOf(pair, s, t), notes: notesOf(pair, s, t) };
}

export const explainCell = (pair, s, t) => ({ headline: headlineOf(pair, s, t), ...reasonOfCell(pair, s, t) });

// ---- a word ----------------------------------------------------------------------------------------------

const cellOf = (side, i, j) => (side === "s" ? [i, j] : [j, i]);

// The positions of the other side that a map links a word with, the likeliest first.
function partnersIn(pair, side, i, links) {
  const k = side === "s" ? 0 : 1;
  const found = [...links.keys()].map(positions).filter((link) => link[k] === i);
  return found.map((link) => link[1 - k]).sort((a, b) => probabilityOf(pair, ...cellOf(side, i, b)) -
    probabilityOf(pair, ...cellOf(side, i, a)));
}

const listed = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

export function explainWord(pair, side, i) {
  const word = wordOf(pair, side, i);
  const partners = partnersIn(pair, side, i, pair.links);
  const missed = pair.gold ? partnersIn(pair, side, i, pair.gold) : [];
  const { weights } = attentionOf(pair, side, i, directionView(pair, side));
  const likeliest = weights.length ? weights.indexOf(Math.max(...weights)) : null;
  const partner = partners[0] ?? missed[0] ?? likeliest;
  const extra = pair.u?.[side === "s" ? 0 : 1].includes(i) ? [`${word} has no vector.`] : [];
  if (partner === null) {
    return { headline: `${word} has no link`, say: ["There is no word to link it with."], notes: extra };
  }
  const reason = reasonOfCell(pair, ...cellOf(side, i, partner), side);
  for (const view of new Set([viewOf(pair), besideOf(pair)].filter(Boolean))) {
    if (["combined", "forward", "reverse"].includes(view)) continue;
    extra.push(`${toldView(view)}: ${tellAttention(pair, side, i, view)}.`);
  }
  const told = partners.map((j) => wordOf(pair, OTHER[side], j));
  const wrong = partners.filter((j) => judgedKind(pair, ...cellOf(side, i, j)) === "wrong");
  const judged = !wrong.length ? "" : partners.length === wrong.length ? ": wrong" : ", not all of them right";
  const headline = partners.length ? `${word} is linked to ${listed(told)}${judged}` : `${word} has no link`;
  return { ...reason, headline, notes: [...extra, ...reason.notes] };
}

// ---- a whole pair ----------------------------------------------------------------------------------------

const nameOfLink = (pair, key) => {
  const [s, t] = positions(key);
  return `${wordOf(pair, "s", s)} – ${wordOf(pair, "t", t)}`;
};

const shortName = (pair, side, i) => isolate(shortenWord(pair[side][i], MAX_NAME), pair.directions[side]);

// The cells whose posterior is nearest to what a link needs.
function closestCalls(pair) {
  const limit = data.rule.threshold;
  if (limit === null || !isShare("combined")) return null;
  const w = weightsOf(pair, "combined");
  const found = [];
  for (let t = 0; t < pair.T; t++) {
    for (let s = 0; s < pair.S; s++) {
      const linked = pair.links.has(`${s}-${t}`);
      const p = w[t * pair.S + s];
      if (!linked && p < 0.05) continue;
      found.push({ s, t, p, away: Math.abs(p - limit) });
    }
  }
  if (!found.length) return null;
  const bars = found
    .sort((a, b) => a.away - b.away)
    .slice(0, CLOSE_CALLS)
    .map(({ s, t, p }) => ({
      name: `${shortName(pair, "s", s)} – ${shortName(pair, "t", t)}`,
      share: p,
      told: tellWeight("combined", p),
      kind: VERDICTS[judgedKind(pair, s, t)] ?? "",
      limit,
    }));
  return { head: "Closest calls", note: tellNeeds(limit), bars };
}

const errorHeadline = (name, keys, pair) =>
  keys.length === 1 ? `One link is ${name}: ${nameOfLink(pair, keys[0])}` : `${keys.length} links are ${name}`;

// "It finds 13 of the 14 sure gold links and makes no wrong links."
function sentenceOfErrors(pair, wrong, missed) {
  const sure = [...pair.gold.values()].filter(Boolean).length;
  const found = `It finds ${sure - missed.length} of the ${counted(sure, "sure gold link")}`;
  return `${found} and makes ${wrong.length ? counted(wrong.length, "wrong link") : "no wrong links"}.`;
}

function explainErrors(pair) {
  const keys = [...new Set([...pair.links.keys(), ...pair.gold.keys()])];
  const of = (kind) => keys.filter((key) => judge(pair, pair.links, key) === kind);
  const [wrong, missed] = [of("wrong"), of("missed")];
  const say = [sentenceOfErrors(pair, wrong, missed)];
  if (wrong.length > 1) say.push(` The most probable wrong link is ${nameOfLink(pair, mostProbable(pair, wrong))}.`);
  if (wrong.length) return { headline: errorHeadline("wrong", wrong, pair), say };
  if (missed.length) return { headline: errorHeadline("missing", missed, pair), say };
  return { headline: `All ${counted(pair.links.size, "link")} are right`, say };
}

function mostProbable(pair, keys) {
  const probability = (key) => pair.links.get(key) ?? 0;
  return keys.reduce((a, b) => (probability(b) > probability(a) ? b : a));
}

function explainCertainty(pair) {
  const count = counted(pair.links.size, "link");
  if (!pair.links.size) return { headline: "There are no links", say: ["No two words are likely enough for one."] };
  const least = [...pair.links].reduce((a, b) => (b[1] < a[1] ? b : a));
  const p = least[1] / 1000;
  const name = nameOfLink(pair, least[0]);
  if (!isShare("combined")) return { headline: count, say: [`The weakest is ${name}, ${share(p)}.`] };
  if (p >= 0.9) return { headline: `All ${count} are surer than 90\u00a0%`, say: [`The least sure is ${name}.`] };
  const headline = `The least sure link is ${name}`;
  return { headline, say: [`Its probability is ${tellWeight("combined", p)}. The pair has ${count}.`] };
}

// What a card says while nothing is pointed at, with the closest calls.
export function explainWhole(pair) {
  const reason = pair.gold ? explainErrors(pair) : explainCertainty(pair);
  return { ...reason, calls: closestCalls(pair) };
}

// Why a link was made or not: { headline, say, groups, both, notes }. `say` is a list of strings and of [word, kind],
// which is emphasized; `groups` are bars of what two words look at; `both` is the bar of both directions together.

import { counted, data, isolate, nameOfSide, quote, share, shortenWord } from "../page.js";
import { isError, judge } from "../panels.js";
import { goldOf, isCorrected, isRemoved, isYours } from "../corrections/links.js";
import { OTHER, besideOf, isShare, positions, shownWeights, toldView, viewOf, weightsOf } from "./pairs.js";
import { attentionOf, directionView, tellAttention, tellWeight } from "./attention.js";

const SHOWN_PARTNERS = 2; // words of a group of bars, next to the partner and "no partner"
const LEAST_SHARE = 0.005; // of a bar that is seen
const CLOSE_CALLS = 6;
const CLOSE = 0.3; // cells that are farther from what a link needs are no close calls
const MAX_NAME = 8; // characters of a word of a close call; longer ones keep both ends

const wordOf = (pair, side, i) => quote(pair.shown[side][i]);

// The number of a cell that the page shows everywhere. That of a link is calibrated, and is not compared with what a
// link needs; the uncalibrated one, by which links are chosen, is not shown.
const probabilityOf = (pair, s, t) => shownWeights(pair, "combined")[t * pair.S + s];

export const tellProbability = (pair, s, t) => tellWeight("combined", probabilityOf(pair, s, t));

const judgedKind = (pair, s, t) => {
  const key = `${s}-${t}`;
  const judged = pair.gold ? judge(pair, pair.links, key) : "";
  return judged || (pair.links.has(key) ? "right" : "");
};

// ---- what a word looks at --------------------------------------------------------------------------------

// Bars without numbers: the number of a link is that of both directions together.
function looksAt(pair, side, i, partner) {
  const view = directionView(pair, side);
  const { weights, none } = attentionOf(pair, side, i, view);
  const ranked = weights.map((_, j) => j).sort((a, b) => weights[b] - weights[a]);
  const shown = ranked.slice(0, SHOWN_PARTNERS);
  if (partner !== null && !shown.includes(partner)) shown.push(partner);
  const bars = shown.map((j) => ({ name: pair.shown[OTHER[side]][j], share: weights[j] }));
  if (view !== "combined") bars.push({ name: "no partner", share: none, dim: true });
  bars.sort((a, b) => b.share - a.share);
  const seen = isShare(view) ? bars.filter((bar) => bar.share >= LEAST_SHARE) : bars;
  const names = [nameOfSide(0), nameOfSide(1)];
  if (side === "t") names.reverse();
  return { head: `${wordOf(pair, side, i)} looks at`, note: names.join(" → "), bars: seen };
}

// "seen from ‘le’, ‘the’ is likelier than ‘black’"
function preference(pair, s, t, side) {
  const best = side === "t" ? pair.bf[t] : pair.br[s];
  const [i, j] = side === "t" ? [t, s] : [s, t];
  const likelier = best < 0 ? "no partner" : wordOf(pair, OTHER[side], best);
  return `seen from ${wordOf(pair, side, i)}, ${likelier} is likelier than ${wordOf(pair, OTHER[side], j)}`;
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
    if (likely(s, k) && !pair.s.some((_, a) => likely(a, t))) return { side: "t", neighbor: pair.shown.t[k] };
  }
  for (const k of [s - 1, s + 1]) {
    if (likely(k, t) && !pair.t.some((_, b) => likely(s, b))) return { side: "s", neighbor: pair.shown.s[k] };
  }
  return null;
}

// Words without a vector; a hidden Markov model, which shows no scores, places one of them by its neighbors.
function lackingVectors(pair, s, t) {
  const found = [["s", s], ["t", t]].filter(([side, at]) => pair.u?.[side === "s" ? 0 : 1].includes(at));
  if (found.length === 2) return "neither word has a vector";
  return pair.m.scores ? found.map(([side, at]) => `${wordOf(pair, side, at)} has no vector`).join(", ") : "";
}

function tellChoices(pair, s, t) {
  const sides = [["t", pair.bf[t] === s], ["s", pair.br[s] === t]].filter(([, isFirst]) => !isFirst);
  if (!sides.length) return "each is the other’s first choice";
  return sides.map(([side]) => preference(pair, s, t, side)).join(", and ");
}

// A second word is linked by what it looks at in one direction.
function tellSecondWord(pair, s, t, { side, neighbor }) {
  const view = side === "t" ? "forward" : "reverse";
  const weight = weightsOf(pair, view)[t * pair.S + s];
  const word = wordOf(pair, side, side === "t" ? t : s);
  if (weight < data.rule.second - 1 / 510) {
    return `${word} is next to ${quote(neighbor)}, with which it is an expression in a dictionary`;
  }
  return `${word} is a second word next to ${quote(neighbor)}, which needs less`;
}

// "the probability of the link is 45 %", or "both together make 17 %, and a link needs 55 %"
function tellTogether(pair, s, t) {
  const told = [tellProbability(pair, s, t), null];
  if (pair.links.has(`${s}-${t}`)) return ["the probability of the link is ", told];
  const verb = "forward" in pair.m && "reverse" in pair.m ? "both together make " : "its weight is ";
  const limit = data.rule.threshold;
  if (limit === null) return [verb, told];
  const others = probabilityOf(pair, s, t) >= limit ? ", but other links were chosen" : "";
  return [verb, told, `, and ${tellNeeds(limit, false)}${others}`];
}

function tellGold(pair, s, t) {
  const key = `${s}-${t}`;
  if (isYours(pair, key)) return [`you made this link${goldOf(pair).get(key) ? "" : ", as a possible one"}`];
  if (isRemoved(pair, key)) return ["you removed this link"];
  if (!pair.gold) return [];
  const linked = pair.links.has(key);
  if (!pair.gold.has(key)) {
    if (linked) return ["people did not link the two: ", ["wrong", "wrong"]];
    return ["people did not link the two, either"];
  }
  const possible = pair.gold.get(key) ? "" : ", as a possible one";
  if (linked) return [`people made this link, too${possible}: `, ["right", "link"]];
  if (possible) return ["people made this link as a possible one"];
  return ["people linked the two: ", ["a missed link", "missed"]];
}

// One sentence of clauses, each a text or a list of parts; empty ones are omitted.
function sentenceOf(clauses) {
  const told = clauses.map((clause) => (typeof clause === "string" ? [clause] : clause)).filter(([first]) => first);
  const [first, ...others] = told.flatMap((clause, n) => (n ? ["; ", ...clause] : clause));
  return [first.replace(/^[a-z]/, (letter) => letter.toUpperCase()), ...others, "."];
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
  if (data.rule.name && data.rule.name !== "posterior") {
    notes.push(`Links are chosen by the rule “${data.rule.name}”.`);
  }
  return notes;
}

const VERDICTS = { right: "link", wrong: "wrong", missed: "missed" }; // kinds of colors

function tellNeeds(limit, withSecond = data.rule.second !== null) {
  const needs = `a link needs ${tellWeight("combined", limit)}`;
  return withSecond ? `${needs}, a second word less` : needs;
}

function bothOf(pair, s, t) {
  if (!isShare("combined")) return null;
  const linked = pair.links.has(`${s}-${t}`);
  const limit = linked ? null : data.rule.threshold;
  const unlinked = "forward" in pair.m && "reverse" in pair.m ? "Both together" : "Weight";
  return {
    head: linked ? "Probability of the link" : unlinked,
    share: probabilityOf(pair, s, t),
    told: tellProbability(pair, s, t),
    kind: VERDICTS[judgedKind(pair, s, t)] ?? "",
    limit,
    needs: limit === null ? "" : tellNeeds(limit),
  };
}

function headlineOf(pair, s, t) {
  const words = `${wordOf(pair, "s", s)} – ${wordOf(pair, "t", t)}`;
  const kind = judgedKind(pair, s, t);
  if (isYours(pair, `${s}-${t}`)) return `${words} is your link`;
  if (isRemoved(pair, `${s}-${t}`)) return `${words} is a link that you removed`;
  if (kind === "missed") return `${words} is a missed link`;
  if (kind === "wrong") return `${words} is a link: wrong`;
  return `${words} is ${kind ? "a" : "no"} link`;
}

function reasonOfCell(pair, s, t, first = "t") {
  const second = pair.links.has(`${s}-${t}`) ? secondWord(pair, s, t) : null;
  const say = sentenceOf([
    lackingVectors(pair, s, t),
    second ? tellSecondWord(pair, s, t, second) : tellChoices(pair, s, t),
    tellTogether(pair, s, t),
    tellGold(pair, s, t),
  ]);
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

// The partner of a word in the link that was changed last, while the card is edited.
function partnerMade(pair, side, i) {
  const k = side === "s" ? 0 : 1;
  const link = pair.editing ? pair.pinned?.made?.find((one) => one[k] === i) : null;
  return link ? link[1 - k] : null;
}

export function explainWord(pair, side, i) {
  const word = wordOf(pair, side, i);
  const made = partnerMade(pair, side, i);
  if (made !== null) return explainCell(pair, ...cellOf(side, i, made));
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

// The number of a word that the sentence has several times, such as "₂".
function occurrenceOf(words, i) {
  if (words.indexOf(words[i]) === words.lastIndexOf(words[i])) return "";
  const number = words.slice(0, i + 1).filter((word) => word === words[i]).length;
  return [...String(number)].map((digit) => String.fromCharCode(0x2080 + Number(digit))).join("");
}

// Isolated, so that the source word comes first in whatever direction it is written.
function shortName(pair, side, i) {
  const word = isolate(shortenWord(pair[side][i], MAX_NAME), pair.directions[side]);
  return `\u2068${word}${occurrenceOf(pair[side], i)}\u2069`;
}

// The errors of the pair, then the other cells whose number is near to what a link needs; null where there are none, or
// people made all of the links.
function closestCalls(pair) {
  const limit = data.rule.threshold;
  if (limit === null || !isShare("combined")) return null;
  const found = [];
  for (let t = 0; t < pair.T; t++) {
    for (let s = 0; s < pair.S; s++) {
      const linked = pair.links.has(`${s}-${t}`);
      const p = probabilityOf(pair, s, t);
      const kind = judgedKind(pair, s, t);
      const error = isError(kind);
      const away = Math.abs(p - limit);
      if (error || (away <= CLOSE && (linked || p >= 0.05))) found.push({ s, t, p, kind, linked, error, away });
    }
  }
  if (!found.length || (pair.gold && !found.some(({ error }) => error))) return null;
  const shown = found
    .sort((a, b) => Number(b.error) - Number(a.error) || a.away - b.away || a.s - b.s || a.t - b.t)
    .slice(0, CLOSE_CALLS);
  const bars = shown.map(({ s, t, p, kind, linked }) => ({
    name: `${shortName(pair, "s", s)} – ${shortName(pair, "t", t)}`,
    share: p,
    told: tellWeight("combined", p),
    kind: VERDICTS[kind] ?? "",
    limit: linked ? null : limit, // the probability of a link is not compared with it
  }));
  const note = shown.every(({ linked }) => linked) ? "" : tellNeeds(limit);
  return { head: "Closest calls", kind: "calls", note, bars };
}

const errorHeadline = (name, keys, pair) =>
  keys.length === 1 ? `One link is ${name}: ${nameOfLink(pair, keys[0])}` : `${keys.length} links are ${name}`;

// "The model makes 13 of the 14 links that people made, and none that is wrong."
function sentenceOfErrors(pair, wrong, missed) {
  const sure = [...pair.gold.values()].filter(Boolean).length;
  const of = `${sure - missed.length} of the ${counted(sure, "link")} that people made`;
  return `The model makes ${of}, and ${wrong.length || "none"} that ${wrong.length > 1 ? "are" : "is"} wrong.`;
}

// What people made of the word of a missed link and what the model did:
// "‘was’ is ‘a été’ here; it finds ‘été’ and leaves ‘a’ without a partner."
function sentenceOfMissed(pair, key) {
  const link = positions(key);
  const partnersOf = (links, k) => [...links].filter(([, sure]) => sure).map(([one]) => positions(one))
    .filter((one) => one[k] === link[k]).map((one) => one[1 - k]).sort((a, b) => a - b);
  const k = partnersOf(pair.gold, 1).length > partnersOf(pair.gold, 0).length ? 1 : 0;
  const [side, other] = k ? ["t", "s"] : ["s", "t"];
  const people = partnersOf(pair.gold, k);
  const found = people.filter((at) => pair.links.has(k ? `${at}-${link[1]}` : `${link[0]}-${at}`));
  const lost = wordOf(pair, other, link[1 - k]);
  const isAlone = ![...pair.links.keys()].some((one) => positions(one)[1 - k] === link[1 - k]);
  const does = isAlone ? `leaves ${lost} without a partner` : `links ${lost} to another word`;
  const isGap = (n) => n && people[n - 1] !== people[n] - 1;
  const phrase = people.map((at, n) => `${isGap(n) ? "… " : ""}${pair.shown[other][at]}`).join(" ");
  const finds = found.length ? `finds ${listed(found.map((at) => wordOf(pair, other, at)))} and ` : "";
  return `${wordOf(pair, side, link[k])} is ${quote(phrase)} here; it ${finds}${does}.`;
}

function explainErrors(pair) {
  const keys = [...new Set([...pair.links.keys(), ...pair.gold.keys()])];
  const of = (kind) => keys.filter((key) => judge(pair, pair.links, key) === kind);
  const [wrong, missed] = [of("wrong"), of("missed")];
  const say = [sentenceOfErrors(pair, wrong, missed)];
  if (wrong.length > 1) say.push(` The most probable wrong link is ${nameOfLink(pair, mostProbable(pair, wrong))}.`);
  if (wrong.length) return { headline: errorHeadline("wrong", wrong, pair), say };
  if (missed.length) {
    const first = missed.reduce((a, b) => (isBefore(b, a) ? b : a));
    return { headline: errorHeadline("missing", missed, pair), say: [...say, ` ${sentenceOfMissed(pair, first)}`] };
  }
  return { headline: `All ${counted(pair.links.size, "link")} are right`, say };
}

function isBefore(key, other) {
  const [[s, t], [a, b]] = [key, other].map(positions);
  return s < a || (s === a && t < b);
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

// Without gold, what the reader has changed judges nothing.
function explainChanges(pair) {
  const own = goldOf(pair);
  const added = [...own.keys()].filter((key) => !pair.links.has(key));
  const removed = [...pair.links.keys()].filter((key) => !own.has(key));
  const stay = pair.links.size - removed.length;
  const say = [`You have added ${counted(added.length, "link")} and removed ${removed.length}; ` +
    `${stay} of the ${counted(pair.links.size, "link")} of the model stay${stay === 1 ? "s" : ""}.`];
  if (added.length === 1 && !removed.length) return { headline: `You have added ${nameOfLink(pair, added[0])}`, say };
  return { headline: "You have changed links of this pair", say };
}

// What a card says while nothing is pointed at, with the closest calls.
export function explainWhole(pair) {
  const explain = pair.gold ? explainErrors : isCorrected(pair) ? explainChanges : explainCertainty;
  const reason = explain(pair);
  return { ...reason, calls: closestCalls(pair) };
}

// Why a link was made or refused, in words.

import { data, quote, share } from "../page.js";
import { OTHER, besideOf, kindOf, toldView, viewOf, weightsOf } from "./pairs.js";
import { attentionOf, tellAttention } from "./attention.js";

const LOOKS = { forward: ": target looks at source", reverse: ": source looks at target" };

function preference(pair, s, t, side) {
  const of = side === "t" ? "forward" : "reverse";
  const view = of in pair.m ? of : "combined";
  const w = weightsOf(pair, view);
  const best = side === "t" ? pair.bf[t] : pair.br[s];
  const word = side === "t" ? pair.shown.t[t] : pair.shown.s[s];
  const here = share(w[t * pair.S + s]);
  if (best < 0) {
    const none = (side === "t" ? pair.nt[t] : pair.ns[s]) / 1000;
    return `${quote(word)} prefers to stay without a link (${kindOf(view)} ${share(none)} to ${here})`;
  }
  const rival = side === "t" ? pair.shown.s[best] : pair.shown.t[best];
  const there = side === "t" ? w[t * pair.S + best] : w[best * pair.S + s];
  return `${quote(word)} prefers ${quote(rival)} (${kindOf(view)} ${share(there)} to ${here})`;
}

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

function verdict(pair, s, t) {
  const linked = pair.links.has(`${s}-${t}`);
  const row = pair.bf[t] === s;
  const column = pair.br[s] === t;
  const p = weightsOf(pair, "combined")[t * pair.S + s];
  const limit = data.rule.threshold;
  const by = data.rule.name ? ` by the rule “${data.rule.name}”` : "";
  const second = secondWord(pair, s, t);
  const of = second?.[0] === "t" ? "forward" : "reverse";
  const own = second && weightsOf(pair, of)[t * pair.S + s];
  const word = second && quote(second[0] === "t" ? pair.shown.t[t] : pair.shown.s[s]);
  const beside = second && quote(second[1]);
  if (linked && second) {
    const found = `a second word: ${word} has no other link, stands beside ${beside}`;
    const enough = `its direction gives this link attention ${share(own)} against ${data.rule.second}`;
    return ["✓ Linked", `${found}, and ${enough}. Chosen${by}.`];
  }
  if (linked) {
    const why =
      row && column
        ? "each is the other’s best choice"
        : row
          ? "the best source word for this target word"
          : column
            ? "the best target word for this source word"
            : "neither is the other’s best choice";
    const enough = limit === null ? "" : `; ${kindOf("combined")} ${share(p)} against a threshold of ${limit}`;
    return ["✓ Linked", `${why}${enough}. Chosen${by}.`];
  }
  const reasons = lacking(pair, s, t);
  if (!row) reasons.push(preference(pair, s, t, "t"));
  if (!column) reasons.push(preference(pair, s, t, "s"));
  if (limit !== null && p < limit) reasons.push(`${kindOf("combined")} ${share(p)} is below the threshold ${limit}`);
  if (second) {
    const needed = `would need attention ${data.rule.second} in its direction, and has ${share(own)}`;
    reasons.push(`as a second word beside ${beside}, ${word} ${needed}`);
  }
  return ["✗ Not linked", reasons.length ? `${reasons.join("; ")}. Decided${by}.` : `left out${by}.`];
}

// Words without a vector; a hidden Markov model, which shows no scores, places one of them by its neighbors.
function lacking(pair, s, t) {
  const found = [[0, s, pair.shown.s[s]], [1, t, pair.shown.t[t]]].filter(([side, at]) => pair.u?.[side].includes(at));
  if (found.length === 2) return ["neither word has a vector"];
  return pair.m.scores ? found.map(([, , word]) => `${quote(word)} has no vector`) : [];
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
  if (!known.length) return at(s, t).toFixed(digits);
  const [a, b] = known.reduce((best, next) => (at(...next) > at(...best) ? next : best));
  const next = `${quote(pair.shown.s[a])} – ${quote(pair.shown.t[b])} ${at(a, b).toFixed(digits)}`;
  return `${at(s, t).toFixed(digits)}, next best ${next}`;
}

export function explainCell(pair, s, t) {
  const at = t * pair.S + s;
  const key = `${s}-${t}`;
  const [mark, why] = verdict(pair, s, t);
  const facts = [];
  if (pair.links.has(key)) facts.push(["probability", (pair.links.get(key) / 1000).toFixed(3)]);
  for (const view of new Set(["combined", viewOf(pair), besideOf(pair), ...Object.keys(LOOKS)])) {
    if (pair.m[view]) facts.push([toldView(view) + (LOOKS[view] ?? ""), share(weightsOf(pair, view)[at])]);
  }
  if (pair.m.scores) facts.push(["score", tellScore(pair, s, t)]);
  if (pair.nt) facts.push(["target word has no partner", share(pair.nt[t] / 1000)]);
  if (pair.ns) facts.push(["source word has no partner", share(pair.ns[s] / 1000)]);
  if (pair.gold) {
    facts.push(["gold", pair.gold.has(key) ? (pair.gold.get(key) ? "sure" : "possible") : "no link"]);
  }
  data.others.forEach((name, i) => facts.push([name, pair.others[i].has(key) ? "linked" : "no link"]));
  return { title: `${quote(pair.shown.s[s])} → ${quote(pair.shown.t[t])}`, facts, text: `${mark}: ${why}` };
}

function likeliest(pair, side, i) {
  const view = side === "s" ? "reverse" : "forward";
  const weights = attentionOf(pair, side, i, pair.m[view] ? view : "combined").weights;
  const most = Math.max(...weights);
  return most >= 0.005
    ? `The likeliest would be ${quote(pair.shown[OTHER[side]][weights.indexOf(most)])} (${share(most)}).`
    : "";
}

export function explainWord(pair, side, i) {
  const { title, facts, text } = reasonOfWord(pair, side, i);
  return {
    title,
    facts: [
      ...facts,
      ...[viewOf(pair), besideOf(pair)]
        .filter(Boolean)
        .map((view) => [toldView(view), tellAttention(pair, side, i, view)]),
    ],
    text,
  };
}

function reasonOfWord(pair, side, i) {
  const source = side === "s";
  const word = pair.shown[side][i];
  const lines = [];
  for (const [key] of pair.links) {
    const [s, t] = key.split("-").map(Number);
    if ((source ? s : t) === i) {
      lines.push(`${quote(source ? pair.shown.t[t] : pair.shown.s[s])} ${(pair.links.get(key) / 1000).toFixed(2)}`);
    }
  }
  const none = source ? pair.ns : pair.nt;
  const facts = none ? [["has no partner", share(none[i] / 1000)]] : [];
  if (pair.u && pair.u[source ? 0 : 1].includes(i)) facts.push(["vector", "none"]);
  if (lines.length) return { title: quote(word), facts, text: `Linked to ${lines.join(", ")}.` };
  const best = source ? pair.br[i] : pair.bf[i];
  if (best < 0) {
    return {
      title: quote(word),
      facts,
      text: `Not linked: no partner is likelier than none. ${likeliest(pair, side, i)}`,
    };
  }
  return {
    title: quote(word),
    facts,
    text: source
      ? `Its best choice is ${quote(pair.shown.t[best])}. ${verdict(pair, i, best).join(": ")}`
      : `Its best choice is ${quote(pair.shown.s[best])}. ${verdict(pair, best, i).join(": ")}`,
  };
}

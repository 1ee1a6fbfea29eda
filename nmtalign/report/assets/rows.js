// Makes rows of the columns of the pairs, as nmtalign/report/page_data.py describes them.

// The first of the largest weights of each word, or -1 where the null word is likelier.
function bestPartners(levels, [low, high, at], counts, steps, none, hidden) {
  const best = [];
  for (let word = 0; word < counts[0]; word++) {
    let most = -1;
    let partner = -1;
    for (let other = 0; other < counts[1]; other++) {
      const level = levels[at + word * steps[0] + other * steps[1]];
      if (level > most) [most, partner] = [level, other];
    }
    best.push(none && none[word] / 255 > low + ((high - low) * most) / 255 ? -1 : partner);
  }
  for (let i = 0; i < hidden.length; i += 2) best[hidden[i]] = hidden[i + 1];
  return best;
}

export function makeRows(columns, levels) {
  const rows = columns.n.map((_, i) =>
    Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, column[i]])),
  );
  let at = 0;
  for (const row of rows) {
    for (const side of ["s", "t"]) row[side] = row[side]?.split("\n") ?? [];
    row.l = row.ls.flatMap((s, i) => [s, row.lt[i], row.lp[i]]);
  }
  for (const view of new Set(rows.flatMap(({ m }) => Object.keys(m)))) {
    for (const { m, s, t } of rows.filter((row) => row.m[view])) {
      m[view].push(at);
      at += s.length * t.length;
    }
  }
  for (const [key, side] of [["nt", "t"], ["ns", "s"]]) {
    for (const row of rows) {
      row[key] = row[key] ? levels.subarray(at, (at += row[side].length)) : null;
    }
  }
  for (const row of rows) {
    const [S, T] = [row.s.length, row.t.length];
    const { forward = row.m.combined, reverse = row.m.combined } = row.m;
    row.bf = bestPartners(levels, forward, [T, S], [S, 1], row.nt, row.bf);
    row.br = bestPartners(levels, reverse, [S, T], [1, S], row.ns, row.br);
    for (const key of ["nt", "ns"]) row[key] &&= Array.from(row[key], (level) => (1000 * level) / 255);
  }
  return rows;
}

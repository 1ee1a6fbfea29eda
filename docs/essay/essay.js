// The figures of the essay "How do words find each other?". `recorded` is in recorded.js.

(() => {
  "use strict";

  const { source, target, sure } = recorded;
  const S = source.length;
  const T = target.length;
  const NARROW = 640; // pixels; below, the words are in two columns
  const CELL = 22;
  const WORD = 15; // pixels of letters
  const LABEL = 12;
  const MIN_CURVE = 0.02; // a curve of less weight is not seen
  const STEP_MILLISECONDS = 1100;

  // --- drawing -------------------------------------------------------------------------------------

  const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  const percent = (share) => (share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`);
  const cells = () => Array.from({ length: T * S }, (_, n) => ({ t: Math.floor(n / S), s: n % S }));
  const keyOf = (s, t) => `${s}-${t}`;
  const goldLinks = new Set(sure.map(([s, t]) => keyOf(s, t)));

  // The kind of each link that is chosen or missed: hit, wrong or missed.
  function judge(links) {
    const kinds = new Map();
    for (const [s, t] of links) kinds.set(keyOf(s, t), { s, t, kind: goldLinks.has(keyOf(s, t)) ? "hit" : "wrong" });
    for (const [s, t] of sure) if (!kinds.has(keyOf(s, t))) kinds.set(keyOf(s, t), { s, t, kind: "missed" });
    return [...kinds.values()];
  }

  const ROUNDED = 0.0011; // recorded weights that differ by less may be equal
  const EXACT = 1e-12;

  // The one largest weight of each row; none if several are equally large, or the word likelier has no partner.
  function bestOfRows(weights, tolerance = ROUNDED) {
    const links = [];
    weights.forEach((row, t) => {
      const largest = Math.max(...row);
      const none = 1 - row.reduce((sum, weight) => sum + weight, 0);
      const best = row.flatMap((weight, s) => (weight >= largest - tolerance ? [s] : []));
      if (best.length === 1 && largest > none) links.push([best[0], t]);
    });
    return links;
  }

  const transposed = (weights) => weights[0].map((_, s) => weights.map((row) => row[s]));
  const bestOfColumns = (weights) => bestOfRows(transposed(weights)).map(([t, s]) => [s, t]);

  function atLeast(weights, threshold) {
    return cells()
      .filter(({ s, t }) => weights[t][s] >= threshold)
      .map(({ s, t }) => [s, t]);
  }

  const measure = document.createElement("canvas").getContext("2d");
  function widthOf(word, size) {
    measure.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return measure.measureText(word).width;
  }

  const sign = (kind, x, y) =>
    svg("text", { class: `sign ${kind}`, x, y, "text-anchor": "middle" }, kind === "wrong" ? "×" : "+");

  // --- curves between the words --------------------------------------------------------------------

  class Curves {
    constructor(room) {
      const down = room < NARROW;
      const ends = down ? this.#columns(room) : this.#lines();
      this.node = svg("svg", {
        viewBox: `0 0 ${ends.width} ${ends.height}`,
        class: "curves",
        "aria-hidden": "true",
        style: `max-width:${Math.max(ends.width, down ? 0 : 760)}px`,
      });
      this.paths = cells().map(({ s, t }) => {
        const path = svg("path", { class: "weight", d: this.#course(ends, s, t, down) });
        this.node.append(path);
        return path;
      });
      this.verdicts = svg("g");
      this.node.append(this.verdicts);
      [source, target].forEach((words, side) => {
        words.forEach((word, n) => {
          const [x, y] = ends.words[side][n];
          const anchor = down ? (side ? "start" : "end") : "middle";
          const about = { x, y: y + WORD * 0.35, "font-size": WORD, "text-anchor": anchor };
          this.node.append(svg("text", { ...about, lang: side ? "fr" : "en" }, word));
        });
      });
      this.course = (s, t) => this.#course(ends, s, t, down);
      this.middle = (s, t) => {
        const [[x, y], [u, v]] = this.#ends(ends, s, t, down);
        return [(x + u) / 2, (y + v) / 2 + 5];
      };
    }

    // Two lines, both spread to the width of the longer one.
    #lines() {
      const widths = [source, target].map((words) => words.map((word) => widthOf(word, WORD)));
      const sums = widths.map((side) => side.reduce((sum, width) => sum + width, 0));
      const width = Math.max(...sums.map((sum, n) => sum + 11 * (widths[n].length - 1))) + 8;
      const words = widths.map((side, n) => {
        const gap = (width - 8 - sums[n]) / (side.length - 1);
        let x = 4;
        return side.map((own) => {
          const middle = x + own / 2;
          x += own + gap;
          return [middle, n ? 168 : 14];
        });
      });
      return { width, height: 184, words };
    }

    // Two columns, for a narrow page.
    #columns(room) {
      const width = Math.max(300, Math.min(room, 420));
      const [left, right] = [source, target].map((words) => Math.max(...words.map((word) => widthOf(word, WORD))));
      const words = [source.map((_, n) => [left + 2, 16 + 30 * n]), target.map((_, n) => [width - right - 2, 16 + 30 * n])];
      return { width, height: 30 * Math.max(S, T) + 4, words };
    }

    #ends(ends, s, t, down) {
      const [[x, y], [u, v]] = [ends.words[0][s], ends.words[1][t]];
      return down ? [[x + 5, y], [u - 5, v]] : [[x, y + 13], [u, v - 13]];
    }

    #course(ends, s, t, down) {
      const [[x, y], [u, v]] = this.#ends(ends, s, t, down);
      const [dx, dy] = down ? [(u - x) * 0.55, 0] : [0, (v - y) * 0.55];
      return `M${x} ${y}C${x + dx} ${y + dy} ${u - dx} ${v - dy} ${u} ${v}`;
    }

    show(weights, verdicts) {
      cells().forEach(({ s, t }, n) => {
        const weight = weights[t][s];
        const seen = weight >= MIN_CURVE;
        this.paths[n].style.strokeWidth = seen ? 0.6 + 7 * weight : 0;
        this.paths[n].style.strokeOpacity = seen ? 0.12 + 0.4 * weight : 0;
      });
      const drawn = verdicts.map(({ s, t, kind }) => svg("path", { class: kind, d: this.course(s, t) }));
      const signs = verdicts.filter(({ kind }) => kind !== "hit").map(({ s, t, kind }) => sign(kind, ...this.middle(s, t)));
      this.verdicts.replaceChildren(...drawn, ...signs);
    }
  }

  // --- the matrix ----------------------------------------------------------------------------------

  class Matrix {
    constructor() {
      const left = Math.max(...target.map((word) => widthOf(word, LABEL))) + 10;
      const top = Math.max(...source.map((word) => widthOf(word, LABEL))) + 10;
      const width = left + S * CELL + 2;
      const height = top + T * CELL + 2;
      this.left = left;
      this.top = top;
      const about = { viewBox: `0 0 ${width} ${height}`, class: "matrix", "aria-hidden": "true" };
      this.node = svg("svg", { ...about, style: `max-width:${width}px` });
      source.forEach((word, s) => {
        const x = left + (s + 0.5) * CELL + LABEL * 0.35;
        const turned = { transform: `translate(${x} ${top - 5}) rotate(-90)`, "font-size": LABEL };
        this.node.append(svg("text", { ...turned, lang: "en" }, word));
      });
      target.forEach((word, t) => {
        const y = top + (t + 0.5) * CELL + LABEL * 0.35;
        const about = { x: left - 6, y, "font-size": LABEL, "text-anchor": "end", lang: "fr" };
        this.node.append(svg("text", about, word));
      });
      this.rects = cells().map(({ s, t }) => {
        const place = { x: left + s * CELL + 1, y: top + t * CELL + 1, width: CELL - 2, height: CELL - 2, rx: 3 };
        this.node.append(svg("rect", { ...place, class: "ground" }));
        const rect = svg("rect", { ...place, class: "cell" }, svg("title"));
        this.node.append(rect);
        return rect;
      });
      this.marks = svg("g");
      this.node.append(this.marks);
    }

    show(weights, verdicts) {
      cells().forEach(({ s, t }, n) => {
        this.rects[n].style.fillOpacity = Math.sqrt(Math.max(0, weights[t][s]));
        this.rects[n].firstChild.textContent = `${target[t]} – ${source[s]}: ${percent(weights[t][s])}`;
      });
      const marks = verdicts.flatMap(({ s, t, kind }) => {
        const [x, y] = [this.left + s * CELL, this.top + t * CELL];
        if (kind === "hit") return [svg("circle", { class: "dot", cx: x + CELL / 2, cy: y + CELL / 2, r: 3 })];
        const box = { class: `box ${kind}`, x: x + 2, y: y + 2, width: CELL - 4, height: CELL - 4, rx: 2 };
        return [svg("rect", box), sign(kind, x + CELL / 2, y + CELL / 2 + 5)];
      });
      this.marks.replaceChildren(...marks);
    }
  }

  // --- both, with what they show in words ----------------------------------------------------------

  class Picture {
    constructor(figure, ...controls) {
      this.words = html("div", { class: "words" });
      this.matrix = html("div");
      this.told = html("p", { class: "verdict" });
      this.caption = html("p", { class: "who" });
      const text = html("div", { class: "told", "aria-live": "polite" }, this.caption, this.told);
      figure.replaceChildren(
        ...controls,
        this.words,
        html("div", { class: "below" }, html("div", {}, text, makeKey()), this.matrix),
      );
      this.figure = figure;
      this.#draw();
      new ResizeObserver(() => {
        if (figure.clientWidth !== this.room) this.#draw();
      }).observe(figure);
    }

    #draw() {
      this.room = this.figure.clientWidth;
      this.views = [new Curves(this.room - 32), new Matrix()];
      this.words.replaceChildren(this.views[0].node);
      this.matrix.replaceChildren(this.views[1].node);
      if (this.shown) this.show(...this.shown);
    }

    show(weights, links, caption) {
      this.shown = [weights, links, caption];
      const verdicts = judge(links);
      for (const view of this.views) view.show(weights, verdicts);
      this.caption.replaceChildren(...caption);
      this.told.replaceChildren(...tellErrors(verdicts));
    }
  }

  const countOf = (verdicts, kind) => verdicts.filter((one) => one.kind === kind).length;

  function tellErrors(verdicts) {
    return [
      html("span", { class: "of-hit" }, `${countOf(verdicts, "hit")} right`),
      " · ",
      html("span", { class: "of-wrong" }, `× ${countOf(verdicts, "wrong")} wrong`),
      " · ",
      html("span", { class: "of-missed" }, `+ ${countOf(verdicts, "missed")} missed`),
    ];
  }

  function makeKey() {
    const entry = (kind, text) => {
      const line = svg("svg", { viewBox: "0 0 34 16", width: 34, height: 16, "aria-hidden": "true" });
      line.append(svg("path", { class: kind, d: "M2 8L32 8" }));
      if (kind === "wrong" || kind === "missed") line.append(sign(kind, 17, 13));
      return html("li", {}, line, text);
    };
    return html(
      "ul",
      { class: "key" },
      entry("key-weight", "attention: the thicker, the more"),
      entry("hit", "a link that people made, too"),
      entry("wrong", "a link that they did not make"),
      entry("missed", "a link of theirs that is missing"),
    );
  }

  // --- first figure: how an aligner learns ---------------------------------------------------------

  // What is to be seen at each step; words of the pair are between stars.
  const STORIES = [
    "All English words get the same attention.",
    "Rare words are sure first: *économique*, *signé*, *1992*. But *zone* prefers *signed*.",
    "The others follow: *sur* becomes surer of *on*.",
    "Most are firm. But *zone* still prefers *signed*, and *L'* and *la* cannot decide between *The* and *the*.",
    "The neighbors help: *zone* finds *Area*, *L'* finds *The*, and *la* finds *the*.",
    "The jumps are learned better, so the words are surer.",
    "Both directions must agree, so *was* gets almost nothing from *a*.",
    "Here, too, *was* prefers *été*, and no word prefers *a*.",
    "Two links that people made are less sure: *the – la* and *was – a*.",
    "This is the default. One link is missed: *was – a*.",
    "Now *was – a* is a link, but so is *Area – a*, which is wrong.",
  ];
  const storyOf = (n) => STORIES[n].split("*").map((part, k) => (k % 2 ? html("em", {}, part) : part));
  const rounds = { uniform: 0, words: 0, positions: 0 };
  const STAGES = recorded.steps.map(({ model, weights }) => {
    const [kind, agree] = model.split(", ");
    rounds[kind] += 1;
    const titles = {
      uniform: "Nothing is known",
      words: `Which words occur together: round ${rounds.words}`,
      positions: `Where they are: round ${rounds.positions}${agree ? ", both directions agree" : ""}`,
    };
    return { title: titles[kind], weights, links: bestOfRows(weights), who: "Each French word chooses its best partner." };
  });
  STAGES.push({
    title: "The other direction",
    weights: recorded.reverse,
    links: bestOfColumns(recorded.reverse),
    who: "Each English word chooses: now columns sum to 1.",
  });
  for (const threshold of [0.95, 0.55, 0.05]) {
    STAGES.push({
      title: `Both together: links of at least ${percent(threshold)}`,
      weights: recorded.joint,
      links: atLeast(recorded.joint, threshold),
      who: "Every cell that reaches the threshold is a link.",
    });
  }

  // The wrong and missed links of each step, as bars above the slider.
  function makeErrorBars(choose) {
    const width = 100 / STAGES.length;
    const highest = Math.max(...STAGES.map(({ links }) => judge(links).filter(({ kind }) => kind !== "hit").length));
    return STAGES.map(({ links, title }, n) => {
      const verdicts = judge(links);
      const bar = html("div", { class: "bar", style: `width:${width}%`, title: `Step ${n}: ${title}` });
      for (const kind of ["missed", "wrong"]) {
        const height = (40 * countOf(verdicts, kind)) / highest;
        bar.append(html("i", { class: `of-${kind}`, style: `height:${height}px` }));
      }
      bar.addEventListener("click", () => choose(n));
      return bar;
    });
  }

  function makeLearning(figure) {
    const slider = html("input", { type: "range", min: 0, max: STAGES.length - 1, value: 0, step: 1 });
    slider.setAttribute("aria-label", "Step of learning");
    const title = html("output", { class: "title" });
    const play = html("button", { type: "button" }, "Play");
    let timer = null;
    const bars = makeErrorBars((n) => choose(n));
    const track = html("div", { class: "track" }, html("div", { class: "bars", "aria-hidden": "true" }, ...bars), slider);
    const head = html("div", { class: "controls" }, html("div", { class: "head" }, play, title), track);
    const picture = new Picture(figure, head);

    function show() {
      const n = Number(slider.value);
      const stage = STAGES[n];
      title.textContent = `${n}. ${stage.title}`;
      slider.setAttribute("aria-valuetext", `${n}: ${stage.title}`);
      bars.forEach((bar, number) => bar.classList.toggle("now", number === n));
      picture.show(stage.weights, stage.links, [`${stage.who} `, ...storyOf(n)]);
      figure.dataset.step = n;
    }

    function stop() {
      window.clearInterval(timer);
      timer = null;
      play.textContent = "Play";
    }

    function choose(n) {
      stop();
      slider.value = n;
      show();
    }

    slider.addEventListener("input", () => choose(slider.value));
    play.addEventListener("click", () => {
      if (timer !== null) return stop();
      if (Number(slider.value) === STAGES.length - 1) slider.value = 0;
      play.textContent = "Stop";
      show();
      timer = window.setInterval(() => {
        slider.value = Number(slider.value) + 1;
        show();
        if (Number(slider.value) === STAGES.length - 1) stop();
      }, STEP_MILLISECONDS);
    });
    for (const link of document.querySelectorAll("a[data-step]")) {
      link.addEventListener("click", () => choose(link.dataset.step));
    }
    show();
  }

  // --- second figure: attention over word vectors --------------------------------------------------

  const SCORES = { dot: "scaled dot-product", bahdanau: "Bahdanau" };
  const temperatureAt = (place) => 10 ** (place / 20); // 1 at 0, 10 at 20

  function softmax(row, temperature) {
    const largest = Math.max(...row);
    const powers = row.map((score) => Math.exp((score - largest) / temperature));
    const sum = powers.reduce((total, power) => total + power, 0);
    return powers.map((power) => power / sum);
  }

  function makeAttention(figure) {
    const choices = Object.entries(SCORES).map(([value, name]) => {
      const radio = html("input", { type: "radio", name: "score", value });
      return { radio, label: html("label", {}, radio, ` ${name}`) };
    });
    choices[0].radio.checked = true;
    const slider = html("input", { type: "range", min: -40, max: 20, value: 0, step: 1 });
    slider.setAttribute("aria-label", "Temperature");
    const title = html("output", { class: "title" });
    const scores = html("fieldset", {}, html("legend", {}, "Score"), ...choices.map(({ label }) => label));
    const head = html("div", { class: "controls" }, html("div", { class: "head" }, title, scores), slider);
    const picture = new Picture(figure, head);

    function show() {
      const { value } = choices.find(({ radio }) => radio.checked).radio;
      const temperature = temperatureAt(Number(slider.value));
      const weights = recorded.scores[value].map((row) => softmax(row, temperature));
      const mean = weights.reduce((sum, row) => sum + Math.max(...row), 0) / T;
      const told = `${temperature.toPrecision(2).replace(/^(\d)\.0$/, "$1")}`;
      title.textContent = `Temperature ${told}`;
      slider.setAttribute("aria-valuetext", told);
      picture.show(weights, bestOfRows(weights, EXACT), [
        `Of a French word, the best partner has ${percent(mean)} on average.`,
      ]);
    }

    slider.addEventListener("input", show);
    for (const { radio } of choices) radio.addEventListener("change", show);
    show();
  }

  makeLearning(document.getElementById("learning"));
  makeAttention(document.getElementById("attention"));
})();

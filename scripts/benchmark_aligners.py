"""For docs/explanation/figures.md: word aligners side by side: error, seconds and memory on the same files.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/benchmark_aligners.py run WORK eflomal fast_align --python PEERS_PYTHON
    python scripts/benchmark_aligners.py run WORK nmtalign-fast nmtalign-default
    python scripts/benchmark_aligners.py table WORK -o out

DATA is a folder with ``bitext/`` and ``gold/``. WORK gets one folder for each corpus with the files ``src``,
``tgt`` (tokenized, lower-cased, line-aligned) and ``gold`` (Pharaoh; ``i-j`` sure, ``ipj`` possible); the
last lines of the text are the gold lines. PEERS_PYTHON is the Python of an environment that holds
``eflomal`` and ``sil-machine[thot]``; for fast_align this file is run by that Python, and so needs nothing
but the standard library.

Every program reads two text files and writes a link file for *all* lines. Links are scored by code that
belongs to no program: alignment error rate, Och and Ney (2003), equation 6.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from _corpora import (
    FAMILIES,
    Cost,
    Score,
    lines_of,
    make_corpora,
    markdown,
    mean_of_families,
    measure,
    score,
)

DIRECTIONS = ("forward", "reverse")
SYMMETRIZED = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")

# --- the programs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One program on one corpus: its cost, the scores by symmetrization, and what else it told."""

    cost: Cost
    scores: dict[str, Score]
    notes: dict[str, float]

    def as_dict(self) -> dict[str, object]:
        scores = {name: asdict(s) for name, s in self.scores.items()}
        return {**asdict(self.cost), "scores": scores, "notes": self.notes}


def tail_scores(folder: Path, links: dict[str, Path]) -> dict[str, Score]:
    """Score the last lines of link files; a file must have as many lines as the text, or as the gold."""
    gold, lines = lines_of(folder / "gold"), len(lines_of(folder / "src"))
    scores = {}
    for name, path in links.items():
        written = lines_of(path)
        if len(written) not in (lines, len(gold)):
            raise SystemExit(f"{path}: expected {lines} or {len(gold)} lines of links, found {len(written)}")
        scores[name] = score(written[-len(gold) :], gold)
    return scores


def symmetrized_scores(folder: Path, out: Path, python: str) -> dict[str, Score]:
    """Combine ``out/forward`` and ``out/reverse`` in every way, and score all of it."""
    subprocess.run([python, __file__, "peer-symmetrize", folder, out], check=True)
    return tail_scores(folder, {method: out / method for method in (*DIRECTIONS, *SYMMETRIZED)})


def run_eflomal(folder: Path, out: Path, python: str) -> Run:
    """Both directions in one call, default model; symmetrization is not counted."""
    program = Path(python).with_name("eflomal-align")
    files = ("-s", folder / "src", "-t", folder / "tgt", "-f", out / "forward", "-r", out / "reverse")
    cost = measure([program, *files], out / "log")
    return Run(cost, symmetrized_scores(folder, out, python), {})


def cost_of_fast_align(folder: Path, out: Path, python: str | Path) -> Cost:
    """Both directions with the program's own threads, then grow-diag-final-and of all lines."""
    return measure([python, __file__, "peer-fast-align", folder, out], out / "log")


def run_fast_align(folder: Path, out: Path, python: str) -> Run:
    cost = cost_of_fast_align(folder, out, python)
    notes = json.loads((out / "notes.json").read_text())
    return Run(cost, symmetrized_scores(folder, out, python), notes)


def run_nmtalign(preset: str, folder: Path, out: Path) -> Run:
    """One command learns and writes all links; then the saved model aligns the same text as new text."""
    program, text = nmtalign_program(), (folder / "src", folder / "tgt")
    learn = (program, "train", *text, "-o", out / "model", "--preset", preset, "--links", out / "links")
    cost = measure(learn, out / "log")
    new_text = measure_new_text(text, out)
    scores = tail_scores(folder, {"links": out / "links", "saved model": out / "again"})
    return Run(cost, scores, new_text)


def measure_new_text(text: tuple[Path, Path], out: Path) -> dict[str, float]:
    """Align a text, and its first line alone (the start-up), with the saved model."""
    first = tuple(out / f"first.{path.name}" for path in text)
    for path, long in zip(first, text, strict=True):
        path.write_text(lines_of(long)[0] + "\n", encoding="utf-8", newline="\n")
    align = (nmtalign_program(), "align", "--model", out / "model")
    start = measure((*align, *first, "-o", out / "first.links"), out / "log-first")
    whole = measure((*align, *text, "-o", out / "again"), out / "log-align")
    pairs = len(lines_of(text[0]))
    return {"start_seconds": start.seconds, "pairs": pairs, **asdict(whole)}


def nmtalign_program() -> Path:
    """Return the command of the environment that runs this script."""
    return Path(sys.executable).with_name("nmtalign")


def run_program(name: str, folder: Path, out: Path, python: str) -> Run:
    """Run a program by its name in an empty folder."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    if name.startswith("nmtalign-"):
        return run_nmtalign(name.removeprefix("nmtalign-"), folder, out)
    return {"eflomal": run_eflomal, "fast_align": run_fast_align}[name](folder, out, python)


def run_all(work: Path, names: Sequence[str], corpora: Sequence[str], python: str, repeat: int) -> None:
    """Run every program on every corpus, one at a time; of repeated runs the one with the least CPU stays."""
    results_path = work / "results.json"
    for corpus, name in itertools.product(corpora or corpora_of(work), names):
        out = work / "runs" / f"{corpus}-{name}"
        runs = [run_program(name, work / corpus, out, python) for _ in range(repeat)]
        best = min(runs, key=lambda run: run.cost.cpu_seconds)
        results = json.loads(results_path.read_text()) if results_path.exists() else {}
        results.setdefault(corpus, {})[name] = best.as_dict()
        results_path.write_text(json.dumps(results, indent=1))
        method, least = best_score(results[corpus][name])
        print(f"{corpus:24} {name:17} AER {least:5.2f} ({method}) {best.cost}", flush=True)


def corpora_of(work: Path) -> list[str]:
    """Return the names of the corpora, smallest text first."""
    folders = [path.parent for path in work.glob("*/gold")]
    return [folder.name for folder in sorted(folders, key=lambda f: (f / "src").stat().st_size)]


def best_score(result: dict) -> tuple[str, float]:
    """Return the method of least error and its error."""
    return min(((m, s["aer"]) for m, s in result["scores"].items()), key=lambda pair: pair[1])


# --- run by the Python of the peers --------------------------------------------------------------


def peer_fast_align(folder: Path, out: Path) -> None:
    """Write ``links`` (grow-diag-final-and, all lines) and both directions of the gold lines."""
    import thot.alignment

    start, texts = time.perf_counter(), (str(folder / "src"), str(folder / "tgt"))
    models = [_fast_align_model(*texts), _fast_align_model(*texts[::-1])]
    trained = time.perf_counter()
    both = thot.alignment.SymmetrizedAlignmentModel(*models)
    both.heuristic = thot.alignment.SymmetrizationHeuristic.GROW_DIAG_FINAL_AND
    with (out / "links").open("w") as file:
        file.writelines(_links(both.get_training_alignment(n)[1]) for n in range(both.num_sentence_pairs))
    notes = {"train_seconds": trained - start, "symmetrize_seconds": time.perf_counter() - trained}
    (out / "notes.json").write_text(json.dumps(notes))
    for name, model in zip(DIRECTIONS, models, strict=True):
        _write_direction(model, out / name, len(lines_of(folder / "gold")), transpose=name == "reverse")


def _fast_align_model(source: str, target: str):
    """Train as the C++ program does with ``-d -o -v``: four re-estimations, links from the fifth pass."""
    import thot.alignment

    model = thot.alignment.FastAlignModel()
    model.variational_bayes = True
    model.read_sentence_pairs(source, target)
    model.emit_training_alignments = True
    model.start_training()
    for _ in range(4):
        model.train()
    model.end_training()
    return model


def _write_direction(model, path: Path, size: int, *, transpose: bool) -> None:
    lines = []
    for n in range(model.num_sentence_pairs - size, model.num_sentence_pairs):
        matrix = model.get_training_alignment(n)[1]
        if transpose:
            matrix.transpose()
        lines.append(_links(matrix))
    path.write_text("".join(lines))


def _links(matrix) -> str:
    """Write a matrix (source, target) of the peers as a Pharaoh line."""
    rows, columns = matrix.to_numpy().nonzero()
    return " ".join(f"{s}-{t}" for s, t in zip(rows.tolist(), columns.tolist(), strict=True)) + "\n"


def peer_symmetrize(folder: Path, out: Path) -> None:
    """Combine the last lines of ``forward`` and ``reverse``; grow-diag and others: Koehn et al. (2005)."""
    size = len(lines_of(folder / "gold"))
    text = [[len(line.split()) for line in lines_of(folder / side)[-size:]] for side in ("src", "tgt")]
    directions = [lines_of(out / name)[-size:] for name in DIRECTIONS]
    for method in SYMMETRIZED:
        with (out / method).open("w") as file:
            for *shape, forward, reverse in zip(*text, *directions, strict=True):
                file.write(_links(_combine(method, _matrix(shape, forward), _matrix(shape, reverse))))


def _matrix(shape: Sequence[int], line: str):
    import thot.common

    matrix = thot.common.WordAlignmentMatrix(*shape)
    for link in line.split():
        matrix.set(*map(int, link.split("-")))
    return matrix


def _combine(method: str, forward, reverse):
    name = {"intersection": "intersect"}.get(method, method.replace("-", "_"))
    getattr(forward, name)(reverse)  # changes `forward`
    return forward


# --- tables and the plot -------------------------------------------------------------------------


def error_table(results: dict) -> str:
    """Return a markdown table: least error of each program on each corpus; every symmetrization competes.

    Behind the error stand precision and recall. The last row has the means over families of corpora.
    """
    names = programs_of(results)
    rows = [["corpus", *names]]
    for corpus, by_name in results.items():
        rows.append([corpus, *(_error_cell(by_name[n]) if n in by_name else "" for n in names)])
    rows.append(["mean of families", *(_mean_of_families(results, name) for name in names)])
    return markdown(rows)


def _best_figures(result: dict) -> tuple[str, dict[str, float]]:
    """Return the method, and its figures: that of the links, else that of least error."""
    method = "links" if "links" in result["scores"] else best_score(result)[0]
    return method, result["scores"][method]


def _error_cell(result: dict) -> str:
    method, figures = _best_figures(result)
    return _figures(figures) + ("" if method == "links" else f" {method}")


def _figures(row: dict[str, float]) -> str:
    return f"{row['aer']:.2f} ({row['precision']:.1f} / {row['recall']:.1f})"


def _mean_of_families(results: dict, name: str) -> str:
    """Return the means over families; nothing if a family is missing."""
    done = {corpus: _best_figures(by_name[name])[1] for corpus, by_name in results.items() if name in by_name}
    if any(done.keys().isdisjoint(family) for family in FAMILIES.values()):
        return ""
    return _figures(mean_of_families(done))


def cost_table(results: dict) -> str:
    """Return a markdown table: wall seconds / CPU seconds / peak megabytes."""
    names = programs_of(results)
    rows = [["corpus", *names]]
    for corpus, by_name in results.items():
        rows.append([corpus, *(_cost_cell(by_name[n]) if n in by_name else "" for n in names)])
    return markdown(rows)


def _cost_cell(result: dict) -> str:
    return f"{result['seconds']:.1f} / {result['cpu_seconds']:.1f} / {result['peak_mb']:.0f}"


def new_text_table(results: dict) -> str:
    """Return a markdown table: how the saved models align text once they are learned."""
    rows = [["corpus", "program", "start-up s", "pairs", "pairs per s", "peak MB"]]
    for corpus, by_name in results.items():
        for name, result in by_name.items():
            if "start_seconds" in (notes := result["notes"]):
                speed = notes["pairs"] / notes["seconds"]
                numbers = f"{notes['start_seconds']:.2f} {notes['pairs']} {speed:.0f} {notes['peak_mb']:.0f}"
                rows.append([corpus, name, *numbers.split()])
    return markdown(rows)


def programs_of(results: dict) -> list[str]:
    return list(dict.fromkeys(name for by_name in results.values() for name in by_name))


def draw_curves(results: dict, path: Path) -> None:
    """Draw the error against seconds; one line for each program, one point for each size of corpus."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator, NullFormatter

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for panel, (prefix, title) in zip(panels, (("h", "Hansard, dev37"), ("a", "ALIBI")), strict=True):
        sizes = [prefix + size for size in ("1k", "10k", "30k", "100k", "all")]
        for name in programs_of(results):
            done = [results[size][name] for size in sizes if name in results.get(size, {})]
            errors = [float(_error_cell(result).split()[0]) for result in done]
            panel.plot([result["seconds"] for result in done], errors, "o-", label=name)
        panel.set(title=title, xscale="log", xlabel="seconds, text files to links", ylabel="AER %")
        panel.set_ylim(bottom=0)
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=120)


def write_report(work: Path, out: Path) -> None:
    results = json.loads((work / "results.json").read_text())
    ordered = {corpus: results[corpus] for corpus in corpora_of(work) if corpus in results}
    out.mkdir(parents=True, exist_ok=True)
    draw_curves(ordered, out / "benchmark.png")
    errors = "AER (precision / recall) in percent; the peers' symmetrization is the best on the gold itself:"
    costs = "Seconds / CPU seconds / peak memory in MB:"
    new_text = "New text with the saved model, start-up and writing included:"
    parts = (errors, error_table(ordered), costs, cost_table(ordered), new_text, new_text_table(ordered))
    report = "\n\n".join(parts)
    (out / "benchmark.md").write_text(report + "\n")
    print(report)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True)
    names = ("corpora", "run", "table", "peer-fast-align", "peer-symmetrize")
    corpora, run, table, fast_align, symmetrize = map(commands.add_parser, names)
    for command in (corpora, run, table, fast_align, symmetrize):
        command.add_argument("work", type=Path)
    corpora.add_argument("--data", type=Path, required=True)
    run.add_argument("programs", nargs="+")
    run.add_argument("--sets", nargs="*", default=[], help="default: all")
    run.add_argument("--python", default=sys.executable, help="Python of the environment of the peers")
    run.add_argument("--repeat", type=int, default=1)
    table.add_argument("-o", "--out", type=Path, default=Path("out"))
    for command in (fast_align, symmetrize):
        command.add_argument("out", type=Path)
    return top


def main() -> None:
    options = parser().parse_args()
    work = options.work.absolute()
    if options.command == "corpora":
        make_corpora(options.data, work)
    elif options.command == "run":
        run_all(work, options.programs, options.sets, options.python, options.repeat)
    elif options.command == "table":
        write_report(work, options.out)
    elif options.command == "peer-fast-align":
        peer_fast_align(work, options.out)
    else:
        peer_symmetrize(work, options.out)


if __name__ == "__main__":
    main()

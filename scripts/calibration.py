"""Are links given probability p right p of the time? A reliability table against hand-made links.

    python scripts/calibration.py WORK [--preset default] [--sets a10k h100k ...] [--threshold 0.05]
    python scripts/calibration.py DIR --frozen [--preset default]

WORK is the folder of ``benchmark_aligners.py`` after ``run WORK nmtalign-PRESET``. The gold lines of each
corpus are aligned by its saved model, once with the default threshold (the links that users get), once with a
low one (nearly all that the model believes at all), by ``nmtalign align --probabilities``.

With ``--frozen`` DIR is what ``freeze.py record`` wrote: the links of its table are those that users get.

Expected calibration error: the mean over links of |mean probability - share of right links| of its bin
(Naeini et al. 2015, equation 1), in ten bins of equal width.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from _corpora import SETS, lines_of, parse_links
from benchmark_aligners import corpora_of, markdown, nmtalign_program

BINS = 10


@dataclass
class Bin:
    """The links whose probability falls into one tenth."""

    links: int = 0
    probability: float = 0.0
    sure: int = 0
    possible: int = 0

    def add(self, other: Bin) -> None:
        self.links += other.links
        self.probability += other.probability
        self.sure += other.sure
        self.possible += other.possible

    @property
    def gap(self) -> float:
        """Links times the distance of their mean probability from their share of possible links."""
        return abs(self.probability - self.possible)


def expected_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error against sure-or-possible links.

    >>> expected_error([Bin(links=4, probability=3.2, sure=2, possible=3), Bin()])
    0.05
    """
    return round(sum(b.gap for b in bins) / max(1, sum(b.links for b in bins)), 4)


def binned(links: Sequence[str], scores: Sequence[str], gold: Sequence[str]) -> list[Bin]:
    """Count the links of each tenth of probability; the three are lines of the same sentence pairs."""
    bins = [Bin() for _ in range(BINS)]
    for link_line, score_line, gold_line in zip(links, scores, gold, strict=True):
        sure, possible = parse_links(gold_line)
        for link, score in zip(link_line.split(), map(float, score_line.split()), strict=True):
            single = Bin(1, score, link in sure, link in possible)
            bins[min(BINS - 1, int(score * BINS))].add(single)
    return bins


def align_gold_lines(corpus: Path, run: Path, threshold: float | None) -> list[Bin]:
    """Align the last lines of a corpus with the model saved in `run`."""
    gold = lines_of(corpus / "gold")
    for side in ("src", "tgt"):
        tail = lines_of(corpus / side)[-len(gold) :]
        text = "".join(line + "\n" for line in tail)
        (run / f"gold.{side}").write_text(text, encoding="utf-8", newline="\n")
    links, scores = run / "gold.links", run / "gold.scores"
    command = [nmtalign_program(), "align", run / "gold.src", run / "gold.tgt", "--model", run / "model"]
    command += ["-o", links, "--probabilities", scores]
    command += [] if threshold is None else ["--threshold", str(threshold)]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return binned(lines_of(links), lines_of(scores), gold)


def pooled(tables: Sequence[list[Bin]]) -> list[Bin]:
    total = [Bin() for _ in range(BINS)]
    for table in tables:
        for into, bin_ in zip(total, table, strict=True):
            into.add(bin_)
    return total


def reliability_table(bins: Sequence[Bin]) -> str:
    rows = [["probability", "links", "mean probability", "sure or possible", "sure"]]
    for number, b in enumerate(bins):
        if b.links:
            shares = (b.probability / b.links, b.possible / b.links, b.sure / b.links)
            label = f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}"
            rows.append([label, str(b.links), *(f"{share:.3f}" for share in shares)])
    return markdown(rows)


def run_folder(work: Path, corpus: str, preset: str) -> Path:
    return work / "runs" / f"{corpus}-nmtalign-{preset}"


def report(work: Path, corpora: Sequence[str], preset: str, threshold: float | None) -> str:
    """Align the gold lines with the saved models, and return the tables."""
    runs = {corpus: run_folder(work, corpus, preset) for corpus in corpora}
    return tables({corpus: align_gold_lines(work / corpus, run, threshold) for corpus, run in runs.items()})


def frozen_bins(folder: Path, corpus: str, preset: str) -> list[Bin]:
    """Count the links of the gold lines of a corpus in the table of ``freeze.py``."""
    gold, run = lines_of(folder / "texts" / corpus / "gold"), folder / "table" / f"{corpus}-{preset}"
    links, probabilities = (lines_of(run / name)[-len(gold) :] for name in ("links", "scores"))
    return binned(links, probabilities, gold)


def tables(by_corpus: dict[str, list[Bin]]) -> str:
    """Return the table over all corpora, and the error of each corpus."""
    total = pooled(list(by_corpus.values()))
    rows = [["corpus", "links", "calibration error"]]
    rows += [[c, str(sum(b.links for b in t)), f"{expected_error(t):.4f}"] for c, t in by_corpus.items()]
    rows.append(["all", str(sum(b.links for b in total)), f"{expected_error(total):.4f}"])
    return reliability_table(total) + "\n\n" + markdown(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--preset", default="default")
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--threshold", type=float, default=0.05)
    parser.add_argument("--frozen", action="store_true", help="WORK was written by freeze.py record")
    options = parser.parse_args()
    work = options.work.absolute()
    if options.frozen:
        done = [name for name in SETS if (work / "table" / f"{name}-{options.preset}" / "links").exists()]
        print(tables({name: frozen_bins(work, name, options.preset) for name in options.sets or done}))
        return
    have = [c for c in corpora_of(work) if (run_folder(work, c, options.preset) / "model").exists()]
    for threshold in (None, options.threshold):
        title = "Links by default" if threshold is None else f"Links above {threshold}"
        print(f"{title}:\n\n{report(work, options.sets or have, options.preset, threshold)}\n")


if __name__ == "__main__":
    main()

"""``nmtalign demo``: align the bundled sample with a learned model and with word vectors, and draw it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

import nmtalign as na
from nmtalign import blas
from nmtalign.cli.declare import command
from nmtalign.cli.messages import print_text
from nmtalign.declarations import Settings, setting
from nmtalign.files.paths import bundled_path
from nmtalign.names import BUNDLED_VECTORS, ScoreName

LINES_IN_PDF = (1, 2, 4, 6, 7, 8, 10, 11)
COMPARED_LINE = 97  # its attention is drawn by three aligners
SCORE_OF_TITLE: dict[str, ScoreName] = {"scaled dot-product": "scaled-dot", "Bahdanau": "bahdanau"}


@dataclass(frozen=True, kw_only=True)
class ResultsOptions(Settings):
    """The folder of the results."""

    section = "Output"

    output: str = setting("out", "-o --output DIR", "Folder to which the results are written.", kind="output")


@command("demo")
def demo_command(results: ResultsOptions) -> None:
    """Align, evaluate and draw the bundled English-French sample.

    The bundled model aligns the sample. Then Bahdanau attention over the bundled word vectors aligns it
    again, and its matrices are saved, too.

    Example: nmtalign demo -o out
    """
    blas.start_with_one_thread()  # as align does, whose modules come after those of evaluate here
    from nmtalign.cli.commands.align_command import align_command
    from nmtalign.cli.commands.evaluate_command import evaluate_command
    from nmtalign.cli.commands.report_command import report_command

    context = click.get_current_context()
    sample, vectors, folder = (
        bundled_path("en_fr_sample"),
        bundled_path(BUNDLED_VECTORS),
        Path(results.output),
    )
    folder.mkdir(parents=True, exist_ok=True)
    text = {"source": str(sample / "text.tok.en"), "target": str(sample / "text.tok.fr")}
    gold, links = str(sample / "gold.pharaoh"), str(folder / "links.txt")
    files = {"probabilities": str(folder / "probabilities.txt"), "table": str(folder / "links.tsv")}
    context.invoke(align_command, **text, output=links, **files)
    print_text(f"\nAgainst the gold links of {sample}:")
    context.invoke(evaluate_command, links=links, gold=gold)
    title = "The English-French sample"
    context.invoke(report_command, **text, gold=gold, output=str(folder / "report.html"), title=title)
    print_text(f"\nWith Bahdanau attention over the word vectors in {vectors}:")
    links = str(folder / "attention_links.txt")
    files = {"attention": str(folder / "attention.npz"), "table": str(folder / "attention_links.tsv")}
    context.invoke(align_command, **text, vectors=str(vectors), score="bahdanau", output=links, **files)
    context.invoke(evaluate_command, links=links, gold=gold)
    _draw_sample(sample, folder)
    print_text("\nOpen:")
    for name, what in _DESCRIPTION_OF_FILE.items():
        print_text(f"  {folder / name!s:<26} {what}")


_DESCRIPTION_OF_FILE = {
    "report.html": "all pairs: words, weights, gold links, figures",
    "heatmap.png": "attention weights of the first pair, with right, wrong and missed links",
    "heatmap.svg": "the same, with text that can be searched",
    "heatmaps.pdf": f"{len(LINES_IN_PDF)} pairs, one per page",
    "links.tsv": "one row per link: pair, positions, words, probability",
    "links.txt": "links in Pharaoh format, one line per pair",
    "probabilities.txt": "their probabilities",
    "attention.png": f"pair {COMPARED_LINE}: scaled dot-product, Bahdanau and learned attention side by side",
    "attention.tsv": f"pair {COMPARED_LINE}: Bahdanau attention as a table with the words",
    "attention.npz": "Bahdanau attention of all pairs: one array (target by source words) per pair",
    "attention_links.tsv": "links from Bahdanau attention, one row per link",
    "attention_links.txt": "the same links in Pharaoh format",
}


def _draw_sample(sample: Path, folder: Path) -> None:
    """Draw lines of the sample with their gold links, then one line as three aligners attend to it."""
    from nmtalign.report.tables import matrices_by_title

    bitext = na.read_bitext(sample / "text.tok.en", sample / "text.tok.fr")
    lines = list(zip(bitext, na.read_gold(sample / "gold.pharaoh"), strict=True))
    learned_model = na.load()
    pages = []
    for number in LINES_IN_PDF:
        sentences, gold = lines[number - 1]
        [pair] = learned_model.align_words_of_lines([sentences])
        title = f"pair {number}"
        pages.append(na.draw_heatmap(matrices_by_title(pair), links=pair.alignment, gold=gold, title=title))
    na.save_heatmaps(pages[:1], folder / "heatmap.png")
    na.save_heatmaps(pages[:1], folder / "heatmap.svg")
    na.save_heatmaps(pages, folder / "heatmaps.pdf")
    sentences, gold = lines[COMPARED_LINE - 1]
    aligners = {name: na.load(BUNDLED_VECTORS, score=score) for name, score in SCORE_OF_TITLE.items()}
    aligners["learned model"] = learned_model
    pairs = {name: aligner.align_words_of_lines([sentences])[0] for name, aligner in aligners.items()}
    matrices = {name: matrices_by_title(pair, "forward")["forward"] for name, pair in pairs.items()}
    title = "How each target word shares its attention: a row sums to 1 with the share that has no partner"
    na.save_heatmaps([na.draw_heatmap(matrices, gold=gold, title=title)], folder / "attention.png")
    pairs["Bahdanau"].save(folder / "attention.tsv")

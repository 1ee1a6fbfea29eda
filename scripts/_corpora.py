"""Shared by the scripts: texts and gold links, the alignment error rate, costs of commands, tables.

Nothing but the standard library is needed here: the peers' own Python reads this file, too.
"""

from __future__ import annotations

import gzip
import html
import itertools
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Pairs = list[tuple[str, str]]

FAMILIES = {  # development sets by corpus and language pair
    "ALIBI": ("a0", "a1k", "a10k", "a30k"),
    "NAACL": ("h10k", "h100k"),
    "Europarl En-Es": ("europarl_enes_200+5k",),
    "De-En": ("bicici_deen_100+10k",),
    "golden En-Es": ("golden_enes_100+5k",),
    "golden En-Fr": ("golden_enfr_100+10k",),
    "golden En-Pt": ("golden_enpt_100",),
    "XLWA It": ("xlwa_enit_dev+1k",),
    "XLWA Hu": ("xlwa_enhu_dev+1k",),
    "XLWA Ru": ("xlwa_enru_dev+1k",),
    "XLWA Bg": ("xlwa_enbg_dev+1k",),
    "Zh-En": ("zhen_225",),
    "Ja-En": ("jaen_291",),
}
TEXTS = ("hansard", "laws", "tatoeba", "ted")  # English-French bitexts
SETS = [name for names in FAMILIES.values() for name in names]

_ELISION = r"aujourd['’]hui|\w+['’](?=\w)"  # l' homme, qu' il
_CONTRACTION = r"['’](?:s|t|ll|ve|re|d|m)\b"  # don 't, he 's
_COMMON = r"\b[a-z]\.(?=\s)|\d+(?:[.,]\d+)*|\w+(?:-\w+)*|\.\.+|--+|[^\w\s]"
_TOKENS = {
    "fr": re.compile(f"{_ELISION}|{_COMMON}", re.IGNORECASE),
    "en": re.compile(f"{_CONTRACTION}|{_COMMON}", re.IGNORECASE),
}


def tokenize(line: str, language: str) -> str:
    """Split words as the ALIBI gold text does: ``l' homme``, ``don 't``, hyphens kept.

    The gold text decides here, not a tokenizer of one of the programs that are compared.

    >>> tokenize("Qu'il aille à 3,5 km!", "fr")
    "qu' il aille à 3,5 km !"
    """
    return " ".join(_TOKENS[language].findall(line)).lower()


def split_all(line: str) -> str:
    """Set every apostrophe and hyphen apart, as the golden_enfr text does."""
    return " ".join(re.sub(r"(['’-])", r" \1 ", line).split(" ")).strip()


def strip_accents(line: str) -> str:
    decomposed = unicodedata.normalize("NFD", line)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def lines_of(path: Path) -> list[str]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") for line in file]


def read_pairs(folder: Path, stem: str, languages: tuple[str, str]) -> Pairs:
    suffix = ".gz" if stem == "train" else ""
    sides = [lines_of(folder / f"{stem}.{language}{suffix}") for language in languages]
    return list(zip(*sides, strict=True))


def normalized(pairs: Pairs, clean: Callable[[str], str] = str.lower) -> Pairs:
    """Return the pairs lower-cased with single spaces; pairs with an empty side are left out."""
    cleaned = ((" ".join(clean(s.lower()).split()), " ".join(clean(t.lower()).split())) for s, t in pairs)
    return [(source, target) for source, target in cleaned if source and target]


def interleaved(corpora: Sequence[Pairs]) -> Pairs:
    """Merge corpora in proportion to their sizes: pair k of n stands at (k + 1/2) / n."""
    keyed = ((2 * k + 1) / (2 * len(c)) for c in corpora for k in range(len(c)))
    order = sorted(zip(keyed, itertools.count(), itertools.chain(*corpora), strict=False))
    return [pair for _, _, pair in order]


def sampled(pairs: Pairs, size: int) -> Pairs:
    """Return `size` pairs at even distances."""
    return [pairs[(2 * i + 1) * len(pairs) // (2 * size)] for i in range(size)]


def mixed_english_french(data: Path, names: Sequence[str]) -> Pairs:
    """Return tokenized laws, tatoeba and ted, interleaved; ted's lines of tags are left out."""
    corpora = []
    for name in names:
        pairs = read_pairs(data / "bitext" / name, "train", ("en", "fr"))
        spoken = [(s, t) for s, t in pairs if not (name == "ted" and s.startswith("<"))]
        tokens = [(tokenize(s, "en"), tokenize(t, "fr")) for s, t in spoken]
        corpora.append([(s, t) for s, t in tokens if s and t])
    return interleaved(corpora)


@dataclass(frozen=True)
class Corpus:
    """A training text, and the gold text that stands behind it with its file of links."""

    name: str
    training: Pairs
    gold_text: Pairs
    gold: Path

    def write(self, folder: Path) -> None:
        """Write ``src`` and ``tgt``, whose last lines are the gold lines, and ``gold``."""
        write_text(folder, [*self.training, *self.gold_text])
        (folder / "gold").write_bytes(self.gold.read_bytes())


def write_text(folder: Path, pairs: Pairs) -> None:
    """Write pairs to the files ``src`` and ``tgt`` of a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for side, filename in enumerate(("src", "tgt")):
        text = "".join(pair[side] + "\n" for pair in pairs)
        (folder / filename).write_text(text, encoding="utf-8", newline="\n")


def languages_of(folder: Path) -> tuple[str, str]:
    """Return the two languages in the name of a folder, as ``en`` and ``de`` in ``xlwa_ende_dev``."""
    for part in folder.name.split("_"):
        codes = part[:2], part[2:]
        if all((folder / f"text.{code}").exists() for code in codes):
            return codes
    raise SystemExit(f"{folder}: no text.XX of the two languages in its name")


def gold_pairs(data: Path, name: str, clean: Callable[[str], str] = str.lower) -> tuple[Pairs, Path]:
    folder = data / "gold" / name
    pairs = normalized(read_pairs(folder, "text", languages_of(folder)), clean)
    gold = folder / "gold.pharaoh"
    if len(pairs) != len(lines_of(gold)):
        raise SystemExit(f"{gold}: one line of links is needed for each of {len(pairs)} pairs")
    return pairs, gold


def hansard_pairs(data: Path) -> Pairs:
    return normalized(read_pairs(data / "bitext" / "hansard", "train", ("en", "fr")), strip_accents)


def hansard_corpora(data: Path) -> Iterator[Corpus]:
    training, gold = hansard_pairs(data), gold_pairs(data, "naacl2003_enfr_dev37", strip_accents)
    for name, size in _sizes("h", len(training)):
        yield Corpus(name, training[:size], *gold)


def alibi_corpora(data: Path) -> Iterator[Corpus]:
    training = mixed_english_french(data, ("laws", "tatoeba", "ted"))
    for name, size in _sizes("a", len(training)):
        yield Corpus(name, sampled(training, size), *gold_pairs(data, "alibi_enfr_522"))


def _sizes(prefix: str, everything: int) -> Iterator[tuple[str, int]]:
    for label, size in (("0", 0), ("1k", 1_000), ("10k", 10_000), ("30k", 30_000), ("100k", 100_000)):
        yield prefix + label, size
    yield f"{prefix}all", everything


def europarl_corpora(data: Path) -> Iterator[Corpus]:
    spanish = normalized(read_pairs(data / "bitext" / "europarl_enes", "train", ("en", "es")), html.unescape)
    german = normalized(read_pairs(data / "bitext" / "europarl_deen", "train", ("de", "en")))
    french = normalized(sampled(mixed_english_french(data, ("laws", "ted")), 10_000), split_all)
    for name, training in (
        ("golden_enfr_100", {"": [], "+10k": french}),
        ("golden_enes_100", {"": [], "+5k": spanish}),
        ("golden_enpt_100", {"": []}),
        ("europarl_enes_200", {"": [], "+5k": spanish}),
        ("bicici_deen_100", {"": [], "+10k": german}),
    ):
        for label, pairs in training.items():
            yield Corpus(name + label, pairs, *gold_pairs(data, name))


def distant_corpora(data: Path) -> Iterator[Corpus]:
    """Yield languages far from English: with a small bitext, or with the gold text alone."""
    for language in ("it", "hu", "ru", "bg"):
        name = f"xlwa_en{language}"
        bitext = normalized(read_pairs(data / "bitext" / name, "train", ("en", language)))
        yield Corpus(f"{name}_dev+1k", bitext, *gold_pairs(data, f"{name}_dev"))
    for name in ("zhen_225", "jaen_291"):
        yield Corpus(name, [], *gold_pairs(data, name))


def corpora(data: Path, wanted: Collection[str] = ()) -> Iterator[tuple[str, Corpus]]:
    """Yield the wanted corpora, or all, each with the name of its family."""
    families = {name.split("+")[0]: family for family, names in FAMILIES.items() for name in names}
    for usual, letters, read in (
        ("ALIBI", "a", alibi_corpora),
        ("NAACL", "h", hansard_corpora),
        ("", "beg", europarl_corpora),
        ("", "xzj", distant_corpora),
    ):
        for corpus in read(data) if not wanted or any(name[0] in letters for name in wanted) else ():
            if not wanted or corpus.name in wanted:
                yield families.get(corpus.name.split("+")[0], usual), corpus


def make_corpora(data: Path, work: Path, wanted: Collection[str] = ()) -> None:
    """Write the wanted corpora, or all, to folders of their names."""
    for _, corpus in corpora(data, wanted):
        corpus.write(work / corpus.name)


# --- the error -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """Precision, recall and alignment error rate in percent (Och and Ney, 2003)."""

    aer: float
    precision: float
    recall: float


def parse_links(line: str) -> tuple[set[str], set[str]]:
    """Return the sure and the possible links of a Pharaoh line as strings ``i-j``."""
    sure = {link for link in line.split() if "-" in link}
    return sure, sure | {link.replace("p", "-") for link in line.split() if "p" in link}


def score(links: Sequence[str], gold: Sequence[str]) -> Score:
    """Score lines of links against lines of gold.

    >>> score(["0-0 1-1"], ["0-0 1p1 2-2"])
    Score(aer=25.0, precision=100.0, recall=50.0)
    """
    found = sure_total = found_sure = found_possible = 0
    for line, gold_line in zip(links, gold, strict=True):
        chosen, (sure, possible) = set(line.split()), parse_links(gold_line)
        found, sure_total = found + len(chosen), sure_total + len(sure)
        found_sure, found_possible = found_sure + len(chosen & sure), found_possible + len(chosen & possible)
    aer = 1 - (found_sure + found_possible) / (found + sure_total)
    precision = found_possible / found if found else 1.0
    return Score(*(round(100 * x, 2) for x in (aer, precision, found_sure / sure_total)))


def mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean of each figure."""
    return {figure: sum(row[figure] for row in rows) / len(rows) for figure in rows[0]}


def mean_of_families(rows: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the mean over families of the means over their sets, of those that are there."""
    families = [[rows[name] for name in names if name in rows] for names in FAMILIES.values()]
    return mean([mean(family) for family in families if family])


# --- running a command, and printing a table -----------------------------------------------------


def nmtalign(*arguments: object) -> str:
    """Run a command of nmtalign and return what it printed."""
    command = [sys.executable, "-m", "nmtalign", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def cpu_seconds_of_children() -> float:
    """Return the CPU seconds of the programs that have been run so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True)
class Cost:
    """What a command took, its child processes included; memory is the most that was resident at a time."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def session_megabytes(session: int) -> float:
    """Return the memory of all processes of a session, shared pages counted once (Linux)."""
    total = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and os.getsid(int(folder.name)) == session:
                rollup = (folder / "smaps_rollup").read_text()
                total += int(re.search(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[1])
        except (OSError, TypeError):  # the process has ended meanwhile
            continue
    return total / 1024


def measure(command: Sequence[str | Path], log: Path) -> Cost:
    """Run a command to its end and return its cost; a failure ends the benchmark with the end of the log."""
    with log.open("wb") as messages:
        start = time.perf_counter()
        child = subprocess.Popen(
            [str(c) for c in command], stdout=messages, stderr=messages, start_new_session=True
        )
    done, peak = threading.Event(), [0.0]
    watcher = threading.Thread(target=_watch, args=(child.pid, done, peak))
    watcher.start()
    try:
        _, status, usage = os.wait4(child.pid, 0)
    except BaseException:
        os.killpg(child.pid, signal.SIGTERM)
        raise
    finally:
        seconds = time.perf_counter() - start
        done.set()
        watcher.join()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        last = log.read_text(errors="replace")[-2000:]
        raise SystemExit(f"{' '.join(map(str, command))}\nended with {child.returncode}:\n{last}")
    # A child starts with its parent's mark, so that only a higher one is its own.
    own_mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mark = usage.ru_maxrss if usage.ru_maxrss > own_mark else 0
    peak_mb = max(peak[0], mark / 1024)
    return Cost(round(seconds, 2), round(usage.ru_utime + usage.ru_stime, 2), round(peak_mb))


def _watch(session: int, done: threading.Event, peak: list[float]) -> None:
    while not done.wait(0.1):
        peak[0] = max(peak[0], session_megabytes(session))


def markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])

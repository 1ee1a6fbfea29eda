"""For CONTRIBUTING.md: what the aligner gives today, kept so that a later state can be compared with it.

    python scripts/freeze.py record DIR --data DATA [--only train given] [--vectors-from DIR_OLD]
    python scripts/freeze.py compare DIR_OLD DIR_NEW

``record`` runs the package beside this script by its command line, and reads model folders as plain files,
so that it outlives any change inside. Its parts, each a folder of DIR:

* ``train``: models of four corpora with their links, probabilities and arrays;
* ``given``: links and probabilities of given word vectors, by score and position model;
* ``gold``: De-En with half of the gold lines given, for both halves, and the error on the other half;
* ``table``: links, precision, recall and alignment error rate of the development sets.

``--only`` takes beginnings of step names, like ``table/a10k`` or ``given``; a step that is run again replaces
what it left. The vectors of ``given`` are made once: give ``--vectors-from`` when a later state is recorded.
DIR/record.json holds hashes, scores and seconds, DIR/texts what was aligned, DIR/table.txt the table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from _corpora import (
    SETS,
    hansard_pairs,
    lines_of,
    make_corpora,
    mean,
    mean_of_families,
    read_pairs,
    score,
    write_text,
)

ROOT = Path(__file__).resolve().parents[1]
PRESETS = ("fast", "default")
TRAIN = {
    "hansard": ("hansard", ()),
    "laws": ("laws", ("--tokenizer", "simple")),
    "europarl_enes": ("europarl_enes_200+5k", ()),
    "zhen": ("zhen_225", ()),
}
SCORES = ("dot", "scaled-dot", "cosine", "bahdanau")
POSITIONS = ("none", "diagonal", "hmm")
GERMAN, HALF = "bicici_deen_100+10k", 50
FIGURES = ("precision", "recall", "aer")

# --- running the program -------------------------------------------------------------------------


def nmtalign(*arguments: object) -> dict[str, Any]:
    """Run a command, and return it with its seconds and CPU seconds."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-m", "nmtalign", *map(str, arguments)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stderr[-2000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    words = [Path(str(a)).name if isinstance(a, Path) else str(a) for a in arguments]
    return {"command": " ".join(words), "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2)}


def train(text: Path, options: Sequence[object], out: Path) -> dict[str, Any]:
    """Learn a model; write the links and probabilities of its text."""
    files = ("-o", out / "model", "--links", out / "links", "--probabilities", out / "scores")
    return nmtalign("train", text / "src", text / "tgt", *files, *options)


def train_and_score(text: Path, options: Sequence[object], out: Path) -> dict[str, Any]:
    """Learn a model, which is not kept; score the links of the last lines."""
    cost, gold = train(text, options, out), lines_of(text / "gold")
    shutil.rmtree(out / "model")
    return {**cost, **asdict(score(lines_of(out / "links")[-len(gold) :], gold))}


def train_on_gold(root: Path, half: int, out: Path) -> dict[str, Any]:
    """Give one half of the gold lines; score the links of the other."""
    text = root / "texts" / f"gold-{half}"
    cost = train(text, ("--preset", "default", "--gold", text / "given"), out)
    shutil.rmtree(out / "model")
    return {**cost, **asdict(score(lines_of(out / "links")[-2 * HALF : -HALF], lines_of(text / "gold")))}


def learn_vectors(root: Path, vectors_from: Path | None, out: Path) -> dict[str, Any]:
    """Take the vectors of an older record, or learn them and draw Bahdanau weights for them."""
    if vectors_from:
        shutil.copytree(vectors_from / "given" / "vectors", out, dirs_exist_ok=True)
        return {}
    sides = [root / "texts" / "hansard" / side for side in ("src", "tgt")]
    options = ("--langs", "en,fr", "-o", out / "folder")
    cost = nmtalign("vectors", "learn", *sides, *options)
    size = next(a.shape[1] for a in arrays_of(out / "folder").values() if a.ndim == 2)
    draw = np.random.default_rng(1).normal
    weights = {"W": draw(size=(size, size)), "U": draw(size=(size, size)), "v": draw(size=size)}
    np.savez(out / "bahdanau.npz", **{name: w / np.sqrt(size) for name, w in weights.items()})
    return cost


def align_given(root: Path, name: str, positions: str, out: Path) -> dict[str, Any]:
    """Align with the vectors, one score and one position model."""
    vectors, text = root / "given" / "vectors", root / "texts" / "hansard-5k"
    with TemporaryDirectory() as temporary:
        folder = shutil.copytree(vectors / "folder", Path(temporary) / "folder")
        shutil.copy(vectors / "bahdanau.npz", folder)
        model = ("--vectors", folder, "--langs", "en,fr", "--score", name, "--positions", positions)
        files = ("-o", out / "links", "--probabilities", out / "scores")
        return nmtalign("align", text / "src", text / "tgt", *model, *files)


# --- record --------------------------------------------------------------------------------------


def make_texts(data: Path, texts: Path) -> None:
    """Write the texts that are not there yet."""
    missing = {name for name in SETS if not (texts / name).exists()}
    if missing:
        make_corpora(data, texts, missing)
    if not (texts / "gold-2").exists():
        hansard = hansard_pairs(data)[:20_000]
        write_text(texts / "hansard", hansard)
        write_text(texts / "hansard-5k", hansard[:5_000])
        laws = read_pairs(data / "bitext" / "laws", "train", ("en", "fr"))[:5_000]
        write_text(texts / "laws", laws)
        make_gold_halves(texts)


def make_gold_halves(texts: Path) -> None:
    """Write the training pairs, then the half that is held out, then the half that is given."""
    pairs = list(zip(*(lines_of(texts / GERMAN / side) for side in ("src", "tgt")), strict=True))
    text, gold = pairs[: -2 * HALF], lines_of(texts / GERMAN / "gold")
    first, last = slice(0, HALF), slice(HALF, 2 * HALF)
    for number, (given, held_out) in enumerate(((first, last), (last, first)), 1):
        folder, tail = texts / f"gold-{number}", pairs[-2 * HALF :]
        write_text(folder, [*text, *tail[held_out], *tail[given]])
        for name, lines in (("given", gold[given]), ("gold", gold[held_out])):
            (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


Step = Callable[[Path], dict[str, Any]]


def steps(root: Path, vectors_from: Path | None) -> Iterator[tuple[str, Step]]:
    """Yield the names of the steps, which are their folders, and what to call."""
    texts = root / "texts"
    for name, (text, options) in TRAIN.items():
        for preset in PRESETS:
            yield f"train/{name}-{preset}", partial(train, texts / text, ("--preset", preset, *options))
    yield "given/vectors", partial(learn_vectors, root, vectors_from)
    for kind in SCORES:
        for positions in POSITIONS:
            yield f"given/{kind}-{positions}", partial(align_given, root, kind, positions)
    for half in (1, 2):  # preset fast has nothing that gold links teach
        yield f"gold/default-{half}", partial(train_on_gold, root, half)
    for name in SETS:
        for preset in PRESETS:
            yield f"table/{name}-{preset}", partial(train_and_score, texts / name, ("--preset", preset))


def record(root: Path, data: Path, only: Sequence[str], vectors_from: Path | None) -> None:
    make_texts(data, root / "texts")
    (root / "texts" / "hashes.json").write_text(json.dumps(hashes(root / "texts", "*/*"), indent=1))
    for name, step in steps(root, vectors_from):
        if name.startswith(tuple(only) or ""):
            out = root / name
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            entry = step(out)
            entries = {**read_record(root), name: {**entry, "sha256": hashes(out, "**/*")}}
            (root / "record.json").write_text(json.dumps(entries, indent=1))
            print(name, " ".join(f"{k} {v}" for k, v in entry.items() if k != "command"), flush=True)
    table = "\n".join(table_of(read_record(root)))
    (root / "table.txt").write_text(table + "\n")
    print(table)


def read_record(root: Path) -> dict[str, Any]:
    path = root / "record.json"
    return json.loads(path.read_text()) if path.exists() else {}


def hashes(folder: Path, pattern: str) -> dict[str, str]:
    """Return the hash of every file, and of every array."""
    files = sorted(path for path in folder.glob(pattern) if path.is_file() and path.name != "hashes.json")
    by_name = {str(path.relative_to(folder)): sha256(path.read_bytes()) for path in files}
    return by_name | {name: hash_of(array) for name, array in arrays_of(folder).items()}


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def hash_of(array: np.ndarray) -> str:
    return sha256(f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())


def arrays_of(folder: Path) -> dict[str, np.ndarray]:
    """Return all arrays of the npy and npz files below a folder; archives give ``FILE:NAME``."""
    arrays = {}
    for path in sorted(folder.rglob("*.np[yz]")):
        name, content = str(path.relative_to(folder)), np.load(path, allow_pickle=False)
        if isinstance(content, np.ndarray):
            arrays[name] = content
        else:
            arrays |= {f"{name}:{key}": content[key] for key in content.files}
    return arrays


# --- the table -----------------------------------------------------------------------------------


def scores_of(entries: dict[str, Any], preset: str) -> dict[str, dict[str, float]]:
    """Return precision, recall, error and CPU seconds by set, and their means over sets and families."""
    wanted = (*FIGURES, "cpu_seconds")
    found = {n: entries[f"table/{n}-{preset}"] for n in SETS if f"table/{n}-{preset}" in entries}
    rows = {name: {figure: entry[figure] for figure in wanted} for name, entry in found.items()}
    means = {}
    if rows:
        means = {"mean of sets": mean([*rows.values()]), "mean of families": mean_of_families(rows)}
    halves = {f"gold, half {h}": entries.get(f"gold/{preset}-{h}") for h in (1, 2)}
    return rows | means | {name: {f: row[f] for f in wanted} for name, row in halves.items() if row}


def table_of(entries: dict[str, Any]) -> Iterator[str]:
    by_preset = [scores_of(entries, preset) for preset in PRESETS]
    head = "".join(f" | {p:^31}" for p in PRESETS)
    yield f"{'':22}{head}\n{'set':22}" + " | precis. recall    AER   CPU s " * len(PRESETS)
    for name in dict.fromkeys(name for scores in by_preset for name in scores):
        rows = [scores.get(name, {}).values() for scores in by_preset]
        cells = ([f"{value:7.2f}" for value in row] for row in rows)
        yield f"{name:22}" + "".join(f" | {' '.join(c):31}" for c in cells)


def table_changes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    yield f"{'set':22} {'preset':8} {'AER before, after, change':^25} {'precision':^23} {'recall':^23} CPU s"
    for preset in PRESETS:
        common = old.keys() & new.keys()  # the means, too, are over what both have
        before, after = (scores_of({name: x[name] for name in common}, preset) for x in (old, new))
        for name in before:
            a, b = before[name], after[name]
            change = [f"{a[f]:7.2f} {b[f]:7.2f} {b[f] - a[f]:+7.2f}" for f in ("aer", "precision", "recall")]
            seconds = f"{a['cpu_seconds']:.1f} {b['cpu_seconds']:.1f}"
            yield f"{name:22} {preset:8} {'  '.join(change)}  {seconds}"


# --- compare -------------------------------------------------------------------------------------


def compare(old: Path, new: Path) -> None:
    before, after = read_record(old), read_record(new)
    for name in (name for name in before if name in after):
        changes = [*step_changes(old / name, new / name)]
        print(f"{name}: {'; '.join(changes) if changes else 'identical'}")
    for label, a, b in (("only before", before, after), ("only after", after, before)):
        if names := a.keys() - b.keys():
            print(f"{label}: {' '.join(sorted(names))}")
    texts = [json.loads((root / "texts" / "hashes.json").read_text()) for root in (old, new)]
    if texts[0] != texts[1]:
        changed = sorted(n for n in texts[0].keys() | texts[1] if texts[0].get(n) != texts[1].get(n))
        print(f"THE TEXTS DIFFER, so nothing above can be compared: {' '.join(changed)}")
    print("\n".join(table_changes(before, after)))


def step_changes(old: Path, new: Path) -> Iterator[str]:
    """Yield what differs between two folders of the same step."""
    if (old / "links").exists():
        yield from link_changes(read_links(old), read_links(new))
    yield from array_changes(arrays_of(old), arrays_of(new))
    yield from file_changes(*(other_files(folder) for folder in (old, new)))


def read_links(folder: Path) -> list[dict[str, float]]:
    """Return the probability of each link, by line."""
    links = [line.split() for line in lines_of(folder / "links")]
    scores = [[float(x) for x in line.split()] for line in lines_of(folder / "scores")]
    return [dict(zip(*pair, strict=True)) for pair in zip(links, scores, strict=True)]


def link_changes(old: list[dict[str, float]], new: list[dict[str, float]]) -> Iterator[str]:
    if len(old) != len(new):
        yield f"{len(old)} lines of links before, {len(new)} after"
        return
    pairs = list(zip(old, new, strict=True))
    if lines := sum(a.keys() != b.keys() for a, b in pairs):
        gone, come = (sum(len(x.keys() - y) for x, y in way) for way in (pairs, [(b, a) for a, b in pairs]))
        total = sum(map(len, old))
        yield f"links differ on {lines} of {len(old)} lines ({gone} of {total} links gone, {come} new)"
    differences = [abs(a[link] - b[link]) for a, b in pairs for link in a.keys() & b]
    if changed := sum(d > 0 for d in differences):
        yield f"{changed} of {len(differences)} probabilities differ, by up to {max(differences):.4f}"


def array_changes(old: dict[str, np.ndarray], new: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield changed, renamed (same content), missing and new arrays."""
    both = [name for name in old if name in new]
    for name in (name for name in both if hash_of(old[name]) != hash_of(new[name])):
        yield f"array {name} {array_difference(old[name], new[name])}"
    missing, come = ({n: a for n, a in x.items() if n not in both} for x in (old, new))
    content = {hash_of(array): name for name, array in come.items()}
    renamed = {name: content[h] for name, a in missing.items() if (h := hash_of(a)) in content}
    for label, names in (
        ("renamed", [f"{a} to {b}" for a, b in renamed.items()]),
        ("missing", sorted(missing.keys() - renamed)),
        ("new", sorted(come.keys() - set(renamed.values()))),
    ):
        if names:
            yield f"{len(names)} arrays {label}: {', '.join(names)}"


def array_difference(old: np.ndarray, new: np.ndarray) -> str:
    if (old.shape, old.dtype) != (new.shape, new.dtype):
        return f"was {old.shape} {old.dtype}, is {new.shape} {new.dtype}"
    if old.dtype.kind not in "biuf":
        return "differs"
    return f"differs by up to {np.abs(old.astype(float) - new.astype(float)).max():.3g}"


def other_files(folder: Path) -> dict[str, bytes]:
    """Return the files that hold neither arrays nor links: settings, word lists."""
    files = (p for p in sorted(folder.rglob("*")) if p.is_file() and p.suffix not in (".npy", ".npz"))
    return {str(p.relative_to(folder)): p.read_bytes() for p in files if p.name not in ("links", "scores")}


def file_changes(old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    for name in sorted(old.keys() | new):
        if name in old and name in new and old[name] == new[name]:
            continue
        if name not in old or name not in new:
            yield f"file {name} {'new' if name in new else 'missing'}"
        elif name.endswith(".json"):
            yield from json_changes(name, *(flat(json.loads(x[name])) for x in (old, new)))
        else:
            a, b = (x[name].count(b"\n") for x in (old, new))
            yield f"file {name} differs ({a} lines before, {b} after)"


def json_changes(name: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    for key in (key for key in {**old, **new} if old.get(key, "-") != new.get(key, "-")):
        a, b = (f"{x.get(key, '-')}"[:60] for x in (old, new))
        yield f"{name} {key}: {a} before, {b} after"


def flat(value: Any, key: str = "") -> dict[str, Any]:
    """Return nested dictionaries as one, the keys joined by dots."""
    if not isinstance(value, dict):
        return {key: value}
    return {k: v for name, inner in value.items() for k, v in flat(inner, f"{key}.{name}".strip(".")).items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording, comparing = commands.add_parser("record"), commands.add_parser("compare")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--data", type=Path, default=Path("../shared/data"))
    recording.add_argument("--only", nargs="+", default=[], metavar="NAME")
    recording.add_argument("--vectors-from", type=Path, metavar="DIR_OLD")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args()
    if options.command == "record":
        record(options.folder.absolute(), options.data, options.only, options.vectors_from)
    else:
        compare(options.old, options.new)


if __name__ == "__main__":
    main()

"""What the pages say of other programs, tried with these programs.

``make test`` installs them into an environment of their own (`tests/other_programs.txt`); the variable
NMTALIGN_OTHER_PROGRAMS names another one. Without them the tests are skipped; with CI=true they fail.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import shutil
import string
import struct
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib.metadata import entry_points
from itertools import accumulate, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nmtalign
from nmtalign.attention import diagonal_prior
from nmtalign.cli import main
from nmtalign.files.paths import bundled_path
from nmtalign.links.selection import SYMMETRIZATION_METHODS, symmetrize_many
from tests.aligner.toy_language import links_of
from tests.conftest import REPOSITORY

OTHERS = Path(os.environ.get("NMTALIGN_OTHER_PROGRAMS", Path(sys.prefix) / "others"))
DOCS = REPOSITORY / "docs"
SAMPLE = bundled_path("en_fr_sample")
TEXT = [str(SAMPLE / f"text.tok.{side}") for side in ("en", "fr")]


def need(condition: bool, reason: str) -> None:
    """Skip a test where a program is missing, or let it fail where all have to be there."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def outside() -> dict[str, str]:
    """Return the environment without the checkout's Python path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return environment | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def run(command: list[str | Path], **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command outside of the checkout's Python path, and expect that it ends well."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=outside(), **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def other(name: str) -> Path:
    """Return the path of another program."""
    program = OTHERS / "bin" / name
    need(program.exists(), f"no {name} in {OTHERS}: make test installs it")
    return program


def python_of(package: str) -> Path:
    """Return the Python of the other programs, which has a package."""
    found = list(OTHERS.glob(f"lib/python3.*/site-packages/{package}"))
    need(bool(found), f"no package {package} in {OTHERS}: make test installs it")
    return other("python")


# Without collections of garbage, which double the time of the imports
ANSWER = """
import gc, json, os, sys, traceback
gc.disable()
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the programs print
for line in sys.stdin:
    request = json.loads(line)
    os.chdir(request["folder"])
    names = {"__name__": "__main__", **request["given"]}
    try:
        exec(request["code"], names)
        reply = {"answer": names["answer"]}
    except BaseException:
        reply = {"error": traceback.format_exc()}
    print(json.dumps(reply), file=answers, flush=True)
"""
running: list[subprocess.Popen[str]] = []  # the Python of the other programs, once it has been asked


@pytest.fixture(scope="module", autouse=True)
def other_python_ends() -> Iterator[None]:
    yield
    while running:
        running.pop().communicate()


def ask(package: str, code: str, **given: object) -> Any:
    """Run code that has the values of `given` in the Python of the other programs; return its `answer`.

    One process answers all questions, so that torch is imported once.
    """
    python = python_of(package)
    if not running:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        running.append(subprocess.Popen([python, "-c", ANSWER], text=True, env=outside(), **pipes))
    stdin, stdout = running[0].stdin, running[0].stdout
    assert stdin is not None
    assert stdout is not None
    print(json.dumps({"code": code, "given": given, "folder": str(Path.cwd())}), file=stdin, flush=True)
    reply = json.loads(stdout.readline() or '{"error": "the process ended"}')
    assert "error" not in reply, reply["error"][-3000:]
    return reply["answer"]


PROGRAM = """
import runpy, sys
sys.argv = command
try:
    runpy.run_path(command[0], run_name="__main__")
except SystemExit as ended:
    assert not ended.code, ended
answer = None
"""


def ask_to_run(package: str, command: list[str | Path]) -> None:
    """Run a program that is written in Python in the process that answers questions."""
    ask(package, PROGRAM, command=[*map(str, command)])


def ours(line: str) -> None:
    """Run nmtalign."""
    with pytest.raises(SystemExit) as caught:
        main(shlex.split(line))
    assert not caught.value.code, line


def block(page: str, language: str, beginning: str = "") -> str:
    """Return the first block of a page in a language that begins in some way."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return next(found for found in blocks if found.startswith(beginning))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- OpusTrainer ---------------------------------------------------------------------------------


def test_opustrainer_runs_the_configuration_of_the_page(place: Path):
    program = other("opustrainer-train")
    ours(f"align {' '.join(TEXT)} --guided corpus.tsv -o corpus.align --quiet")
    (place / "corpus.yml").write_text(block("howtos/guided_training.md", "yaml"), encoding="utf-8")
    command = block("howtos/guided_training.md", "sh", "opustrainer-train").split()
    done = run([program, *command[1:]])
    assert "Skipping" not in done.stderr
    given = {tuple(line.split("\t")[:2]) for line in (place / "corpus.tsv").read_text("utf-8").splitlines()}
    seen, tagged = [line.split("\t") for line in done.stdout.splitlines()], 0
    for source, target in seen:
        plain = re.sub(r"__source__ (\S+) __target__ (\S+) __done__", r"\1", source)
        tagged += plain != source
        assert (plain, target) in given
    assert len(seen) >= len(given)
    assert tagged > len(seen) / 4


TAGGED = """
from opustrainer.modifiers.placeholders import PlaceholderTagModifier
answer = PlaceholderTagModifier(1.0).apply(line)
"""


def test_opustrainer_counts_words_between_any_white_space():
    """As the page warns: for nmtalign *deux amis* is one word here, and 1-1 is *rient-laugh*."""
    line = "deux\u00a0amis rient\ttwo\u00a0friends laugh\t1-1"
    found = ask("opustrainer", TAGGED, line=line)
    assert found == "deux __source__ amis __target__ friends __done__ rient\ttwo friends laugh"


ICU = """
from opustrainer.tokenizers import make_detokenizer
answer = [make_detokenizer("icu:en").detokenize(tokens)[0] for tokens in both]
"""


def test_opustrainer_counts_spaces_among_the_tokens_of_icu():
    both = [["Hello", "▁", "world", "."], ["Hello", "world", "."]]
    assert ask("opustrainer", ICU, both=both) == ["Hello world.", "Helloworld."]


LOSSLESS = """
from opustrainer.modifiers.placeholders import PlaceholderTagModifier
models = dict(spm_vocab_src=spm[0], spm_vocab_trg=spm[1]) if spm else {}
languages = dict(custom_detok_src="icu:en", custom_detok_trg="icu:fr")
plain = PlaceholderTagModifier(0.0, augment=1, tag=0, **languages, **models)
noisy = PlaceholderTagModifier(0.2, augment=1, tag=0, **languages, **models)
answer = [[modifier.apply(row).split("\\t") for row in rows] for modifier in (plain, noisy)]
"""


@pytest.fixture(scope="module")
def subword_models(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A sentencepiece model of each side of the raw sample."""
    from sentencepiece import SentencePieceTrainer

    folder, files = tmp_path_factory.mktemp("subwords"), []
    for side in ("en", "fr"):
        options = {"vocab_size": 500, "hard_vocab_limit": False, "minloglevel": 2}
        SentencePieceTrainer.train(
            input=str(SAMPLE / f"text.{side}"), model_prefix=str(folder / side), **options
        )
        files.append(str(folder / f"{side}.model"))
    return files


@pytest.mark.parametrize("has_models", [False, True])
def test_opustrainer_restores_lossless_tokens(place: Path, subword_models: list[str], has_models: bool):
    pytest.importorskip("icu4py", reason="pip install 'nmtalign[icu]'")
    raw = [str(SAMPLE / f"text.{side}") for side in ("en", "fr")]
    tokens = "--tokenizer icu --tokens cut --count tokens+spaces"
    ours(f"align {' '.join(raw)} {tokens} --guided rows --quiet -o links")
    rows = Path("rows").read_text("utf-8").split("\n")[:-1]
    if has_models:
        _need_older_sentencepiece()
    plain, noisy = ask("opustrainer", LOSSLESS, rows=rows, spm=subword_models if has_models else None)
    given = [list(pair) for pair in nmtalign.read_bitext(*raw)]
    assert [row[:2] for row in plain] == given
    assert sum(row[:2] != pair for row, pair in zip(noisy, given, strict=True)) > len(given) / 2
    if has_models:
        _check_links_of_pieces([row[2] for row in plain], given, subword_models)


def _need_older_sentencepiece() -> None:
    version = ask("opustrainer", "import sentencepiece\nanswer = sentencepiece.__version__")
    older = tuple(map(int, version.split("."))) < (0, 2, 1)
    need(older, f"OpusTrainer needs sentencepiece before 0.2.1, found {version}: make test installs it")


def _check_links_of_pieces(links: list[str], given: list[list[str]], models: list[str]) -> None:
    """Expect that links of pieces are inside of their lines."""
    from nmtalign.text.subwords import load_segmenter

    for line, pair in zip(links, given, strict=True):
        sizes = [len(load_segmenter(model).encode(side)[0]) for model, side in zip(models, pair, strict=True)]
        positions = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert all(s < sizes[0] and t < sizes[1] for s, t in positions)


def test_opustrainer_runs_the_configuration_with_lossless_tokens(place: Path, subword_models: list[str]):
    pytest.importorskip("icu4py", reason="pip install 'nmtalign[icu]'")
    program = other("opustrainer-train")
    _need_older_sentencepiece()
    raw = [str(SAMPLE / f"text.{side}") for side in ("en", "fr")]
    tokens = "--tokenizer icu --tokens cut --count tokens+spaces"
    ours(f"align {' '.join(raw)} {tokens} --guided corpus.tsv --quiet -o links")
    page = "howtos/guided_training.md"
    modifiers = block(page, "yaml", "modifiers")
    plain = block(page, "yaml", "datasets")
    configuration = re.sub(r"modifiers:\n(?: .*\n)+", modifiers, plain)
    assert modifiers in configuration
    (place / "corpus.yml").write_text(configuration, encoding="utf-8")
    for model in subword_models:
        shutil.copy(model, place)
    done = run([program, "--config", "corpus.yml"])
    assert "Skipping" not in done.stderr
    rows = [line.split("\t") for line in done.stdout.split("\n")[:-1]]
    given = {tuple(pair) for pair in nmtalign.read_bitext(*raw)}
    whole = sum(tuple(row[:2]) in given for row in rows)
    assert len(given) / 10 < whole < len(rows)  # the others have noise
    _check_links_of_pieces([row[2] for row in rows], [row[:2] for row in rows], subword_models)


REMAPPED = """
from opustrainer.alignments import format_alignments, parse_alignments
from opustrainer.modifiers.retokenize import make_retokenizer, remap_alignment_pairs
sides = [make_retokenizer({"detokenize": "spaces", "tokenize": "spm:" + model}) for model in spm]
answer = []
for row in rows:
    *words, links = row.split("\\t")
    words = [side.split() for side in words]
    mappings = [side.retokenize(of_side)[2] for side, of_side in zip(sides, words)]
    answer.append(format_alignments(remap_alignment_pairs(*mappings, parse_alignments(links, *words))))
"""


def test_links_of_pieces_are_those_that_opustrainer_remaps(place: Path, subword_models: list[str]):
    python_of("opustrainer")
    _need_older_sentencepiece()
    raw = " ".join(str(SAMPLE / f"text.{side}") for side in ("en", "fr"))
    ours(f"align {raw} --guided rows -o words --quiet")
    ours(f"align {raw} --spm {','.join(subword_models)} -o pieces --quiet")
    rows = Path("rows").read_text("utf-8").split("\n")[:-1]
    remapped = ask("opustrainer", REMAPPED, rows=rows, spm=subword_models)
    assert Path("pieces").read_text("utf-8").split("\n")[:-1] == remapped


# --- eflomal -------------------------------------------------------------------------------------

LOWERED = """
import tempfile, eflomal
with tempfile.NamedTemporaryFile("wb") as file:
    index, *_ = eflomal.to_eflomal_text_file(["House of Cards\\n"], file)
answer = sorted(index.index)
"""


QUICK = ("--model", "3", "--length", "0.1")  # few iterations, where the quality of the links does not matter


def test_eflomal_looks_words_up_in_lower_case():
    assert ask("eflomal", LOWERED) == ["cards", "house", "of"]


def test_eflomal_reads_our_priors_and_we_read_its(place: Path, capsys: pytest.CaptureFixture[str]):
    program = other("eflomal-align")
    ours(f"train {' '.join(TEXT)} -o model --quiet")
    ours("lexicon --model model --priors new.priors --quiet")
    files = ["-s", TEXT[0], "-t", TEXT[1], "-f", "forward", "-r", "reverse"]
    done = run([program, *files, "--priors", "new.priors", "--verbose", *QUICK])
    used, given = map(int, re.search(r"(\d+) \(of (\d+)\) pairs of lexical priors", done.stderr).groups())
    kinds = [line.split("\t")[0] for line in (place / "new.priors").read_text("utf-8").splitlines()]
    assert used == given == kinds.count("LEX")
    assert set(kinds) == {"LEX", "HMMF", "HMMR"}
    words = [list(map(len, map(str.split, pair))) for pair in nmtalign.read_bitext(*TEXT)]
    for direction in ("forward", "reverse"):  # both write source-target from 0, a line for each pair
        links = (place / direction).read_text("utf-8").splitlines()
        for line, (S, T) in zip(links, words, strict=True):
            pairs = [tuple(map(int, link.split("-"))) for link in line.split()]
            assert all(0 <= s < S and 0 <= t < T for s, t in pairs)

    run([other("eflomal-makepriors"), *files, "--priors", "its.priors"])
    kinds = [line.split("\t")[0] for line in (place / "its.priors").read_text("utf-8").splitlines()]
    jumps = kinds.count("HMMF") + kinds.count("HMMR")
    fertilities = kinds.count("FERF") + kinds.count("FERR")
    assert set(kinds) == {"LEX", "HMMF", "HMMR", "FERF", "FERR"}
    capsys.readouterr()
    ours(f"train {' '.join(TEXT)} -o from_priors --preset fast --prior its.priors")
    err = capsys.readouterr().err
    assert f"headwords of the source, {jumps:,} lines of jumps" in err
    assert f"skipped {fertilities:,} lines of fertilities (FERF, FERR)" in err


def test_priors_of_links_are_those_of_eflomal(place: Path):
    """Word pairs, jumps and fertilities, which eflomal then reads."""
    program = other("eflomal-makepriors")
    ours(f"align {' '.join(TEXT)} -o links --quiet")
    ours(f"lexicon {' '.join(TEXT)} links --priors own.priors --min-probability 0 --quiet")
    files = ["-s", TEXT[0], "-t", TEXT[1], "-f", "links", "-r", "links"]
    run([program, *files, "--priors", "its.priors"])
    own, its = (_priors(place / f"{name}.priors") for name in ("own", "its"))
    assert {key[0] for key in own} == {"LEX", "HMMF", "HMMR", "FERF", "FERR"}
    assert own == its
    read = [other("eflomal-align"), "-s", TEXT[0], "-t", TEXT[1], "-f", "forward"]
    run([*read, "--priors", "own.priors", *QUICK])
    assert len((place / "forward").read_text("utf-8").splitlines()) == len(_lines(TEXT[0]))


def _priors(path: Path) -> dict[tuple[str, ...], float]:
    rows = [line.split("\t") for line in _lines(path)]
    return {tuple(row[:-1]): float(row[-1]) for row in rows}


def _lines(path: str | Path) -> list[str]:
    return Path(path).read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def wrong_pairs(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """The sample, in which each tenth pair has another target, and the model that is learned from it."""
    folder = tmp_path_factory.mktemp("wrong")
    source, target = map(_lines, TEXT)
    wrong = list(range(0, len(source), 10))
    target = [target[(n + 95) % len(target)] if n in wrong else line for n, line in enumerate(target)]
    for name, lines in (("source", source), ("target", target)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    text, scores = f"{folder}/source {folder}/target", folder / "scores"
    ours(f"train {text} -o {folder}/model --pair-scores {scores} --quiet")
    align = f"align {text} --model {folder}/model -o links --quiet"
    return SimpleNamespace(
        folder=folder, pairs=list(zip(source, target, strict=True)), wrong=wrong, align=align
    )


def test_eflomal_gives_wrong_pairs_high_costs_where_we_give_low_scores(
    place: Path, wrong_pairs: SimpleNamespace
):
    program, folder, wrong = other("eflomal-align"), wrong_pairs.folder, wrong_pairs.wrong
    given = ["-s", folder / "source", "-t", folder / "target", "-F", "forward", "-R", "reverse"]
    run([program, *given, "--length", "0.3"])
    ours(f"{wrong_pairs.align} --costs costs")
    files = {"forward": "forward", "reverse": "reverse", "scores": folder / "scores"}
    values = {name: np.loadtxt(file) for name, file in files.items()}
    values["own forward"], values["own reverse"] = np.loadtxt("costs").T
    right = np.delete(np.arange(len(wrong_pairs.pairs)), wrong)
    share = {}  # of pairs of a right and a wrong pair that are in order
    for name, of_pairs in values.items():
        high, low = (right, wrong) if name == "scores" else (wrong, right)
        share[name] = np.mean(of_pairs[high][:, None] > of_pairs[low])
        assert share[name] > 0.8, name
    assert share["own forward"] >= share["forward"]
    assert share["own reverse"] >= share["reverse"]


FILTERED = """
from opusfilter import CLEAN_LOW
from opusfilter.word_alignment import WordAlignFilter
filter = WordAlignFilter()
filter.aligner.rel_iterations = 0.2  # the test of eflomal has more
assert filter.score_direction == CLEAN_LOW
answer = list(filter.score(pairs)), [filter.accept(costs_of_pair) for costs_of_pair in costs]
"""


def test_opusfilter_reads_our_costs_as_those_of_its_word_aligner(place: Path, wrong_pairs: SimpleNamespace):
    """They put the pairs into an order at least as good, and its own thresholds accept the right ones."""
    python_of("opusfilter")
    ours(f"{wrong_pairs.align} --costs costs.jsonl")
    own = [json.loads(line)["WordAlignFilter"] for line in _lines("costs.jsonl")]
    its, accepted = ask("opusfilter", FILTERED, pairs=wrong_pairs.pairs, costs=own)
    is_wrong = np.isin(np.arange(len(own)), wrong_pairs.wrong)
    for direction in (0, 1):
        in_order = []
        for costs in (np.array(own)[:, direction], np.array(its)[:, direction]):
            in_order.append(np.mean(costs[is_wrong][:, None] > costs[~is_wrong]))
        assert in_order[0] >= max(in_order[1], 0.9)
    assert np.mean(np.array(accepted)[~is_wrong]) > 0.8
    assert np.mean(np.array(accepted)[is_wrong]) < 1 / 3  # with a model of 265 dirty pairs


# --- SimAlign and awesome-align ------------------------------------------------------------------

LINES = 15
SIMALIGN = """
import numpy as np
from simalign import SentenceAligner
answer = {"distorted": SentenceAligner.apply_distortion(np.array(similar)).tolist()}
for kind in ("bpe", "word"):
    aligner = SentenceAligner(model=folder, token_type=kind, matching_methods="mai", layer=8)
    answer[kind] = [aligner.get_word_aligns(*pair) for pair in pairs]
"""


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A small BERT of random weights as all three programs read it, and the pairs of words to align."""
    pytest.importorskip("transformers", reason="pip install 'nmtalign[transformers]'")
    sys.path.insert(0, str(REPOSITORY / "scripts"))
    try:
        import benchmark_encoder
    finally:
        sys.path.remove(str(REPOSITORY / "scripts"))
    small = {"hidden_size": 32, "num_hidden_layers": 9, "num_attention_heads": 2, "intermediate_size": 64}
    folder, lines = tmp_path_factory.mktemp("encoder"), [*nmtalign.read_bitext(*TEXT)][:LINES]
    for name, side in (("source", 0), ("target", 1)):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in lines), encoding="utf-8")
    (folder / "both").write_text("".join(f"{s} ||| {t}\n" for s, t in lines), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark_encoder, "SHAPE", small)
        benchmark_encoder.make_encoder(folder)
    return SimpleNamespace(folder=folder, pairs=[(s.split(" "), t.split(" ")) for s, t in lines])


def our_links(encoder: SimpleNamespace, method: str, units: str = "subwords") -> list[set[tuple[int, int]]]:
    """Return the links of `links_from`."""
    given = {"encoder": encoder.folder, "layer": 8, "method": method, "units": units}
    return links_of(nmtalign.links_from(encoder.pairs, **given))


def test_links_and_the_prior_of_positions_are_those_of_simalign(encoder: SimpleNamespace):
    similar = np.random.default_rng(0).random((3, 5))  # source by target
    given = {"folder": str(encoder.folder), "pairs": encoder.pairs, "similar": similar.tolist()}
    found = ask("simalign", SIMALIGN, **given)
    names = {"inter": "simalign-argmax", "itermax": "simalign-itermax", "mwmf": "simalign-match"}
    for kind, units in (("bpe", "subwords"), ("word", "words")):
        for own, method in names.items():
            links = [set(map(tuple, pair[own])) for pair in found[kind]]
            assert links == our_links(encoder, method, units), (kind, own)
    prior = diagonal_prior(5, 3, form="simalign", strength=0.5)
    np.testing.assert_allclose(np.array(found["distorted"]), similar * prior.T, rtol=1e-12)


# Both in one process, which imports torch and transformers once
AWESOME_ALIGN = """
import runpy, sys
for extraction in extractions:
    output = ["--output_file", f"{folder}/{extraction}", "--extraction", extraction]
    sys.argv = ["awesome-align", "--data_file", f"{folder}/both", "--model_name_or_path", folder, *output]
    runpy.run_module("awesome_align.run_align", run_name="__main__")
answer = None
"""


def test_links_are_those_of_awesome_align(encoder: SimpleNamespace):
    methods = {"softmax": "awesome-align", "entmax15": "awesome-align-entmax"}
    ask("awesome_align", AWESOME_ALIGN, folder=str(encoder.folder), extractions=list(methods))
    for extraction, method in methods.items():
        lines = (encoder.folder / extraction).read_text("utf-8").splitlines()
        links = [{tuple(map(int, link.split("-"))) for link in line.split()} for line in lines]
        assert links == our_links(encoder, method), method


# --- symmetrization ------------------------------------------------------------------------------

GROWN = """
from machine.translation import SymmetrizationHeuristic, WordAlignmentMatrix
answer = {}
for name in methods:
    answer[name] = []
    for S, T, forward, reverse in cases:
        matrix, second = (WordAlignmentMatrix.from_word_pairs(S, T, links) for links in (forward, reverse))
        matrix.symmetrize_with(second, SymmetrizationHeuristic[name.upper().replace("-", "_")])
        links = matrix.to_aligned_word_pairs()
        answer[name].append([(link.source_index, link.target_index) for link in links])
"""


def test_links_grow_as_in_sil_machine():
    draw, cases = np.random.default_rng(3), []
    for _ in range(60):
        S, T = draw.integers(1, 9, 2).tolist()
        forward = [[int(draw.integers(S)), t] for t in range(T) if draw.random() < 0.8]
        reverse = [[s, int(draw.integers(T))] for s in range(S) if draw.random() < 0.8]
        cases.append([S, T, forward, reverse])
    found = ask("machine", GROWN, cases=cases, methods=list(SYMMETRIZATION_METHODS))
    forward, reverse = ([[*map(tuple, case[side])] for case in cases] for side in (2, 3))
    for method in SYMMETRIZATION_METHODS:
        links = [frozenset(map(tuple, pair)) for pair in found[method]]
        assert links == symmetrize_many(forward, reverse, method)


# --- CTranslate2 ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small translation model, `tiny`, and the same as CTranslate2 reads it, `model`."""
    pytest.importorskip("transformers", reason="pip install 'nmtalign[transformers]'")
    converter, folder = other("ct2-transformers-converter"), tmp_path_factory.mktemp("translator")
    from tests.external.tiny import make_translator

    (folder / "tiny").mkdir()
    make_translator(folder / "tiny")
    ask_to_run("ctranslate2", [converter, "--model", folder / "tiny", "--output_dir", folder / "model"])
    return folder


def test_the_script_that_the_page_names_gets_attention_from_ctranslate2(place: Path, translator: Path):
    python = python_of("ctranslate2")
    from sentencepiece import SentencePieceProcessor

    from tests.external.tiny import reversed_bitext

    shutil.copytree(translator, place, dirs_exist_ok=True)
    toy = reversed_bitext(20, seed=3)
    for side, lines in (("source", toy.source), ("target", toy.target)):
        pieces = SentencePieceProcessor(model_file=f"tiny/{side}.spm").encode(lines, out_type=str)
        Path(f"{side}.pieces").write_text("".join(f"{' '.join(line)}\n" for line in pieces), "utf-8")
    script, command = (
        block("other_programs.md", "sh", "python scripts/ctranslate2").replace("\\\n", "").splitlines()
    )
    program, *arguments = script.split()[1:]
    run([python, REPOSITORY / program, *arguments])
    ours(f"{command.removeprefix('nmtalign ')} --shift 1 --quiet")
    found = [set(links.links) for links in map(_links_of_line, Path("links.txt").read_text().splitlines())]
    right = sum(len(links & gold) for links, gold in zip(found, toy.links, strict=True))
    assert right > 0.8 * sum(map(len, toy.links))  # as the model was made: where it reads a word


TRANSLATED = """
import ctranslate2
model = ctranslate2.Translator("model")
options = {"use_vmap": True, "beam_size": 1, "max_decoding_length": 20, "max_batch_size": 1}
translated = [result.hypotheses[0] for result in model.translate_batch(pieces, **options)]
scored = dir(model.score_batch([["a", "</s>"]], [["b"]])[0])
answer = translated, scored
"""


def test_ctranslate2_reads_our_vocabulary_map_and_scores_without_attention(place: Path, translator: Path):
    from sentencepiece import SentencePieceProcessor

    from tests.external.tiny import reversed_bitext

    shutil.copytree(translator, place, dirs_exist_ok=True)
    toy = reversed_bitext(20, seed=3)
    pieces = {}
    for side, lines in (("source", toy.source), ("target", toy.target)):
        pieces[side] = SentencePieceProcessor(model_file=f"tiny/{side}.spm").encode(lines, out_type=str)
        Path(side).write_text("".join(f"{' '.join(line)}\n" for line in pieces[side]), encoding="utf-8")
    lines = zip(toy.links, pieces["source"], pieces["target"], strict=True)
    links = (" ".join(f"{s}-{t}" for s, t in _links_of_pieces(*line)) for line in lines)
    Path("links").write_text("".join(f"{line}\n" for line in links), encoding="utf-8")
    ours("lexicon source target links --vmap model/vmap.txt --quiet")
    written = Path("model/vmap.txt").read_text("utf-8").splitlines()
    targets = {source: set(words.split(" ")) for source, words in (line.split("\t") for line in written)}
    sources = [[*line, "</s>"] for line in pieces["source"]]
    translated, scored = ask("ctranslate2", TRANSLATED, pieces=sources)
    assert "log_probs" in scored
    assert "attention" not in scored
    assert all(map(len, translated))
    for line, hypothesis in zip(pieces["source"], translated, strict=True):
        allowed = {"<unk>", "<s>", "</s>", "<pad>"}.union(*(targets.get(piece, ()) for piece in line))
        assert allowed.issuperset(hypothesis)


def _links_of_pieces(
    links: Collection[tuple[int, int]], source: list[str], target: list[str]
) -> list[tuple[int, int]]:
    """Return the links of all pieces of words; a piece with a mark begins a word."""
    source_words = list(accumulate(piece.startswith("▁") for piece in source))
    target_words = list(accumulate(piece.startswith("▁") for piece in target))
    pairs = product(enumerate(source_words), enumerate(target_words))
    return [(s, t) for (s, word), (t, other) in pairs if (word - 1, other - 1) in links]


def _links_of_line(line: str) -> SimpleNamespace:
    return SimpleNamespace(links={tuple(map(int, link.split("-"))) for link in line.split()})


# --- dask and make -------------------------------------------------------------------------------


def test_options_of_dask_exist():
    pytest.importorskip("distributed", reason="pip install 'nmtalign[dask]'")
    page = (DOCS / "scaling.md").read_text(encoding="utf-8")
    for program in ("scheduler", "worker"):
        lines = re.findall(rf"^dask {program}\b(.*?)(?:#|$)", page, re.MULTILINE)
        (command,) = entry_points(group="dask_cli", name=program)
        options = {option for parameter in command.load().params for option in parameter.opts}
        assert len(lines) == 1
        assert options.issuperset(re.findall(r"--[a-z-]+", " ".join(lines))), program


def test_settings_of_dask_exist():
    distributed = pytest.importorskip("distributed", reason="pip install 'nmtalign[dask]'")
    import dask.config

    assert "distributed.scheduler.allowed-failures" in (DOCS / "scaling.md").read_text(encoding="utf-8")
    assert dask.config.get("distributed.scheduler.allowed-failures") == 3
    assert distributed


def test_the_makefile_of_the_page_makes_the_links(place: Path):
    need(shutil.which("make") is not None, "no make")
    for side, file in zip(("en", "fr"), TEXT, strict=True):
        lines = Path(file).read_text("utf-8").splitlines(keepends=True)
        (place / f"text.{side}").write_text("".join(lines[:20]), encoding="utf-8")
    rules = block("scaling.md", "make")
    assert "seq 16" in rules
    assert "/16 " in rules
    program = f"{sys.executable} -m nmtalign align"
    rules = rules.replace("seq 16", "seq 2").replace("/16 ", "/2 ").replace("nmtalign align", program)
    (place / "Makefile").write_text(rules, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    subprocess.run(["make", "-s"], check=True, capture_output=True, env=environment)
    ours("align text.en text.fr -o expected.txt --quiet")
    assert (place / "links.txt").read_bytes() == (place / "expected.txt").read_bytes()


# --- Translate Toolkit ---------------------------------------------------------------------------

UNITS = """
from translate.storage import factory
answer = []
for name in names:
    for unit in factory.getobject(name).units:
        parts = [part.__class__.__name__ for string in unit.rich_target for part in string.flatten()]
        answer.append([str(unit.source), str(unit.target), "G" in parts, "X" in parts])
"""


def test_translate_toolkit_reads_files_with_placed_tags(place: Path):
    """Its XLIFF units have the tags as elements; its TMX units, with the codes as text."""
    source = 'The <g id="1">cat</g> sees <x id="2"/>you'
    unit = f"<trans-unit id='1'><source>{source}</source><target>Le chat te voit</target></trans-unit>"
    head = "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'>"
    file = "<file original='a' source-language='en' target-language='fr' datatype='html'><body>"
    (place / "page.xlf").write_text(f"{head}{file}{unit}</body></file></xliff>", encoding="utf-8")
    bold = '<bpt i="1">[b]</bpt>', '<ept i="1">[/b]</ept>'
    segments = {"de": "Die Katze", "en": f"The {bold[0]}cat{bold[1]}", "fr": "Le chat"}
    variants = "".join(f"<tuv xml:lang='{name}'><seg>{text}</seg></tuv>" for name, text in segments.items())
    tmx = f"<tmx version='1.4'><header srclang='en'/><body><tu>{variants}</tu></body></tmx>"
    (place / "memory.tmx").write_text(tmx, encoding="utf-8")
    (place / "page.links").write_text("0-0 1-1 2-3 3-2\n", encoding="utf-8")
    (place / "memory.links").write_text("0-0 1-1\n", encoding="utf-8")
    ours("project --pairs page.xlf page.links -o new.xlf --quiet")
    ours("project --pairs memory.tmx --sides en,fr memory.links -o new.tmx --quiet")
    changed = tmx.replace("Le chat", f"Le {bold[0]}chat{bold[1]}")
    assert (place / "new.tmx").read_text("utf-8") == changed
    answer = ask("translate", UNITS, names=["new.xlf", "new.tmx"])
    assert answer[0] == ["The cat sees you", "Le chat te voit", True, True]
    assert len(answer) == 2


SAVE = """
from translate.storage import factory
for name in names:
    store = factory.getobject(name)
    store.units[0].target = "Le chat vous voit"
    store.savefile(name)
answer = len(names)
"""


def test_translate_toolkit_keeps_links_in_files(place: Path):
    """Also if a target changes."""
    unit = "<source>The cat sees you</source><target>Le chat te voit</target>"
    head = "<xliff version='1.2' xmlns='urn:oasis:names:tc:xliff:document:1.2'>"
    file = "<file original='a' source-language='en' target-language='fr' datatype='html'><body>"
    xliff = f"{head}{file}<trans-unit id='1'>{unit}</trans-unit></body></file></xliff>"
    sides = {"en": "The cat sees you", "fr": "Le chat te voit"}
    variants = "".join(f"<tuv xml:lang='{name}'><seg>{text}</seg></tuv>" for name, text in sides.items())
    tmx = f"<tmx version='1.4'><header srclang='en'/><body><tu>{variants}</tu></body></tmx>"
    (place / "links.txt").write_text("0-0 1-1 2-3 3-2\n", encoding="utf-8")
    for name, text in {"tmx": tmx, "xliff": xliff}.items():
        (place / f"old.{name}").write_text(text, encoding="utf-8")
        ours(f"convert links.txt --to {name} --source old.{name} -o new.{name} --quiet")
    assert ask("translate", SAVE, names=["new.tmx", "new.xliff"]) == 2
    for name in ("tmx", "xliff"):
        assert "vous" in (place / f"new.{name}").read_text("utf-8")
        ours(f"convert new.{name} --from {name} --to pharaoh -o again.txt")
        assert (place / "again.txt").read_bytes() == (place / "links.txt").read_bytes()


TERMS = """
from translate.storage import factory
answer = []
for unit in factory.getobject("terms.tbx").units:
    terms = unit.get_target_terms("fr")[0]
    answer.append([unit.source, terms.text, *[note.text for note in terms.notes]])
"""


def test_translate_toolkit_reads_terms(place: Path):
    for name, line in {"en": "R&D costs", "fr": "coûts de R&D", "links": "0-2 1-0"}.items():
        (place / f"text.{name}").write_text(f"{line}\n" * 3, encoding="utf-8")
    ours("lexicon text.en text.fr text.links --terms terms.tbx --quiet")
    notes = ["linked 3 times: 100% of the source term, 100% of the target term", "coûts de R&D"]
    assert ask("translate", TERMS) == [["R&D costs", "coûts de R&D", *notes]]


# --- PyGlossary ----------------------------------------------------------------------------------

FREEDICT = """<?xml version="1.0" encoding="UTF-8"?>
<TEI xmlns="http://www.tei-c.org/ns/1.0" version="5.0"><teiHeader><fileDesc><titleStmt>
<title>English-French FreeDict Dictionary</title></titleStmt></fileDesc></teiHeader><text><body>
<entry><form><orth>cat</orth><pron>kat</pron></form><gramGrp><pos>n</pos></gramGrp>
<sense n="1"><cit type="trans"><quote>chat</quote></cit><cit type="trans"><quote>matou</quote></cit></sense>
<sense n="2"><cit type="trans"><quote>fouet</quote></cit><cit type="example"><quote>a cat</quote>
<cit type="trans"><quote>un chat</quote></cit></cit></sense></entry>
<entry><form><orth>dog</orth></form><sense><cit type="trans"><quote>chien</quote></cit></sense></entry>
</body></text></TEI>"""
JMDICT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE JMdict [<!ELEMENT JMdict (entry*)> <!ENTITY n "noun (common)">]><JMdict><entry><ent_seq>1</ent_seq>
<k_ele><keb>猫</keb></k_ele><r_ele><reb>ねこ</reb></r_ele><sense><pos>&n;</pos><gloss>cat</gloss><gloss>pussy</gloss>
</sense><sense><gloss>geisha</gloss></sense></entry></JMdict>"""
CAT_AND_DOG = [("cat", "chat"), ("cat", "matou"), ("cat", "fouet"), ("dog", "chien")]


def write_stardict(name: str, texts: dict[str, str], kind: str) -> str:
    """Write a dictionary of StarDict with texts of a kind (m: plain, h: HTML); return its main file."""
    text, index = b"", b""
    for headword, of_headword in texts.items():
        raw = of_headword.encode()
        index += headword.encode() + b"\0" + struct.pack(">II", len(text), len(raw))
        text += raw
    sizes = f"wordcount={len(texts)}\nidxfilesize={len(index)}"
    info = f"StarDict's dict ifo file\nversion=3.0.0\nbookname=A\n{sizes}\nsametypesequence={kind}\n"
    Path(f"{name}.ifo").write_text(info, encoding="utf-8")
    Path(f"{name}.idx").write_bytes(index)
    Path(f"{name}.dict").write_bytes(text)
    return f"{name}.ifo"


def write_dictd(name: str, texts: dict[str, str]) -> str:
    """Write a dictionary of dictd; return its index, whose numbers are shorter than 64 bytes."""
    digits = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    lines, text = [], ""
    for headword, of_headword in texts.items():
        lines.append(f"{headword}\t{digits[len(text)]}\t{digits[len(of_headword)]}\n")
        text += of_headword
    Path(f"{name}.index").write_text("".join(lines), encoding="utf-8")
    Path(f"{name}.dict").write_text(text, encoding="utf-8")
    return f"{name}.index"


def converted(path: str) -> str:
    """Convert a dictionary by the command of the error about it; return the word list."""
    program = other("pyglossary")
    with pytest.raises(nmtalign.DataError) as caught:
        nmtalign.read_dictionary(path)
    command = shlex.split(str(caught.value).split("`")[1])
    assert command[0] == "pyglossary"
    ask_to_run("pyglossary", [program, *command[1:]])
    return command[2]


def translations(path: str) -> list[tuple[str, str]]:
    frame = nmtalign.read_dictionary(path)
    return list(zip(frame["headword"], frame["translation"], strict=True))


def test_pyglossary_makes_word_lists(place: Path):
    plain = {"cat": "1. chat\n2. matou, fouet\nan animal", "dog": "chien"}
    marked = {"cat": "<div><b>chat</b>, matou<br>fouet</div>", "dog": "<i>n.</i> chien"}
    of_dictd = {"cat": "cat <n>\n1. chat, matou\n2. fouet\n", "dog": "dog\nchien\n"}
    Path("tei.tei").write_text(FREEDICT, encoding="utf-8")
    Path("japanese.gz").write_bytes(gzip.compress(JMDICT.encode()))
    for path in (
        write_stardict("plain", plain, "m"),
        write_stardict("marked", marked, "h"),
        write_dictd("dictd", of_dictd),
        "tei.tei",
    ):
        assert translations(converted(path)) == CAT_AND_DOG, path
    of_japanese = translations(converted("japanese.gz"))
    for headword in ("猫", "ねこ"):
        assert [(headword, text) for text in ("cat", "pussy", "geisha")] == [
            row for row in of_japanese if row[0] == headword
        ]


def test_a_word_list_of_pyglossary_is_a_prior(place: Path, capsys: pytest.CaptureFixture[str]):
    Path("a.en").write_text("the cat\nthe dog\n" * 20, encoding="utf-8")
    Path("a.fr").write_text("le chat\nle chien\n" * 20, encoding="utf-8")
    words = converted(write_stardict("x", {"cat": "chat", "dog": "chien"}, "m"))
    ours(f"train a.en a.fr -o model --preset fast --workers 1 --prior {words}")
    assert f"{words}: 2 word pairs for this text, headwords of the source" in capsys.readouterr().err

"""From lines to a model: what is read, what is warned about, the same bytes again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtalign.aligner.training_steps import train_aligner
from nmtalign.corpus import sections as sections_module
from nmtalign.corpus import sides as sides_module
from nmtalign.corpus.sides import encode_both_sides
from nmtalign.corpus.text import encode_lines
from nmtalign.errors import DataError
from nmtalign.text import chunks
from nmtalign.text.tokenization import TextSettings
from nmtalign.training import encoded_bitext
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.training.prior import Prior
from tests.aligner.toy_language import toy_bitext, training_job

FAST = PRESET_HYPERPARAMETERS["fast"]
TOY = toy_bitext(120, longest=25)


def warnings_of(pairs) -> list[str]:
    found: list[str] = []
    train_aligner(pairs, training_job(FAST, workers=1, warn=found.append))
    return found


def saved(folder: Path, pairs=TOY.pairs, **options) -> dict[str, bytes]:
    train_aligner(pairs, training_job(**options)).aligner.save(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_bytes_whatever_the_threads(tmp_path: Path):
    one = saved(tmp_path / "1", workers=1)
    assert saved(tmp_path / "2", workers=2) == one
    assert saved(tmp_path / "again", workers=2) == one
    assert saved(tmp_path / "stream", pairs=iter(TOY.pairs), workers=1) == one


def test_the_model_says_what_it_was_learned_from():
    corpus = train_aligner(TOY.pairs, training_job(FAST, workers=1)).aligner.training["corpus"]
    assert corpus["pairs"] == 120
    assert corpus["source_tokens"] == sum(len(line.split()) for line in TOY.source)
    assert corpus["target_tokens"] == sum(len(line.split()) for line in TOY.target)
    moved = train_aligner(TOY.pairs[::-1], training_job(FAST, workers=1)).aligner.training["corpus"]
    assert len(corpus["sha256"]) == 64
    assert moved["sha256"] != corpus["sha256"]


def test_words_are_cut_as_told():
    text_settings = TextSettings("simple", lowercase=False)
    pairs = [("The cat, the dog.", "Le chat, le chien."), ("The cat.", "Le chat.")] * 4
    aligner = train_aligner(pairs, training_job(FAST, text_settings=text_settings, workers=1)).aligner
    assert aligner.text_settings == text_settings
    assert {"The", "the", ",", "."} <= set(aligner.lexicon.source_words)
    assert len(aligner.align(*pairs[0]).matrix.source_tokens) == 6


LINES = st.text(alphabet="aB  Σς\u0301e\u2019É\t\r\u2028\x00", max_size=8)


@given(
    pairs=st.lists(st.tuples(LINES, LINES), max_size=9),
    tokenizer=st.sampled_from(["space", "simple"]),
    form=st.sampled_from(["nfc", "none", "nfkc", "strip-accents"]),
)
@settings(deadline=None)
def test_blocks_of_lines_are_numbered_as_their_words(pairs, tokenizer, form):
    text_settings = TextSettings(tokenizer, unicode=form)
    expected = encode_both_sides(text_settings.words_of_pair(pair) for pair in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sides_module, "PAIRS_PER_BLOCK", 2)
        patch.setattr(encoded_bitext, "PAIRS_PER_NUMBERING", 4)
        patch.setattr(chunks, "MAX_CHUNK_CHARS", 40)
        *sides, _ = encoded_bitext.encode_bitext(pairs, text_settings, (None, None))
        broken = [(f"{source}\n{source}", target) for source, target in pairs]
        others = encode_lines(broken, text_settings, (None, None))
    expected += encode_both_sides(text_settings.words_of_pair(pair) for pair in broken)
    for side, own in zip((*sides, others.source, others.target), expected, strict=True):
        assert side.words == own.words
        for name in ("tokens", "offsets", "counts"):
            np.testing.assert_array_equal(getattr(side, name), getattr(own, name))


def test_a_line_break_in_a_later_chunk_is_named_with_its_pair(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(encoded_bitext, "PAIRS_PER_NUMBERING", 2)
    with pytest.raises(DataError, match="pair 4: expected one line per side, found a line break"):
        encoded_bitext.encode_bitext([*[("a", "b")] * 3, ("a", "b\nc")], TextSettings(), (None, None))


def test_a_bitext_that_looks_right_is_not_warned_about():
    assert warnings_of(TOY.pairs) == []


def test_half_empty():
    pairs = [*TOY.pairs[:50], *[("", line) for line in TOY.target[:60]]]
    (line,) = warnings_of(pairs)
    assert "60 of 110 pairs have an empty side" in line


def test_the_same_file_twice():
    assert any("same words on both sides" in line for line in warnings_of([(s, s) for s in TOY.source]))


@pytest.mark.parametrize("shift", [-2, -1, 1, 2])
def test_shifted_lines(shift: int):
    lines = [*TOY.pairs, ("", ""), ("", "")]
    target = np.roll([t for _, t in lines], shift).tolist()
    (line,) = warnings_of(zip((s for s, _ in lines), target, strict=True))
    sign = "+" if shift > 0 else "-"
    assert f"line n of the source is paired with line n {sign} {abs(shift)} of the target" in line


def test_lines_that_are_no_translations():
    target = np.random.default_rng(0).permutation(TOY.target).tolist()
    (line,) = warnings_of(zip(TOY.source, target, strict=True))
    assert "hardly correlated" in line


def test_sentences_of_one_length_are_no_reason_to_warn():
    assert warnings_of([("a b", f"x y{n % 9}") for n in range(80)]) == []


@pytest.mark.parametrize("pairs", [[], [("", "")], [("a", ""), ("", "b")], [(" ", "  ")]])
def test_nothing_to_learn_from(pairs):
    with pytest.raises(DataError, match="both sides"):
        train_aligner(pairs, training_job(workers=1))


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", "b")],
        [("a", "b"), ("", "c"), ("d", "")],
        [("a " * 50, "b " * 50)] * 3,
        [("a", "b " * 30), ("a " * 30, "b")],
        [(f"w{n}", f"x{n}") for n in range(40)],
        [("1997", "1997"), ("a\u2028b c", "d \x85 e"), ("\x00", "\r")],
    ],
)
def test_small_and_odd_bitexts(pairs):
    aligner = train_aligner(pairs, training_job(FAST, workers=1)).aligner
    for model in aligner.positions.jump_models:
        assert np.isfinite(model.tables).all()
    batch = replace(aligner, workers=1).link_text(encode_lines(pairs, aligner.text_settings))
    assert len(batch) == len(pairs)
    assert np.isfinite(batch.scores).all()


@pytest.mark.parametrize(
    ("pairs", "says"),
    [
        ([("house", "maison")], "it has only 1 pair, so nothing"),
        ([("house", "maison")] * 10, "all 10 pairs are the same, so nothing"),
        ([("the big house", "la grande maison")] * 2, "all 2 pairs are the same, so nothing"),
        ([("house", "maison"), ("cat", "chat"), ("", "")], "the model links no words of its 3 pairs"),
        ([("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")], None),
        ([("a house", "une maison"), ("a house", "la maison")], None),
    ],
)
def test_a_text_that_is_too_small_is_told(pairs, says):
    found = [line for line in warnings_of(pairs) if "too small to learn from" in line]
    assert [says in line for line in found] == ([] if says is None else [True])


def test_one_pair_is_enough_for_an_older_model():
    found: list[str] = []
    train_aligner(
        TOY.pairs[:1], training_job(FAST, prior=Prior([("q", "r", 1.0)]), workers=1, warn=found.append)
    )
    assert not [line for line in found if "only 1 pair" in line]


def test_a_line_longer_than_a_piece_is_learned_from(monkeypatch: pytest.MonkeyPatch):
    for name, words in (("MAX_UNSPLIT_WORDS", 60), ("CORE_WORDS", 40), ("MARGIN_WORDS", 20)):
        monkeypatch.setattr(sections_module, name, words)
    source, target = (" ".join(lines[:40]) for lines in (TOY.source, TOY.target))
    found = train_aligner([*TOY.pairs[40:], (source, target)], training_job(FAST, workers=1))
    assert found.aligner.training["corpus"]["pairs"] == 81
    assert len(found.aligner.lexicon.source_words) == len(set(" ".join(TOY.source).split())) + 1
    [links] = found.align([found.aligner.resolved_extraction], "words")
    assert len(links) == 81
    assert links.target[links.offsets[80] :].max() > 300


@pytest.mark.parametrize(
    ("line", "tokenizer", "expected"),
    [
        ("今天天气很好我们去公园", "space", "the target is written without spaces and not split"),
        ("今天天气很好我们去公园", "simple", "the target is split into single characters"),
        ("今天 天气 很 好", "space", None),
        ("今天天气很好我们去公园", "icu", None),
        ("the name 李 is Chinese", "space", None),
    ],
)
def test_scripts_without_spaces(line: str, tokenizer: str, expected: str | None):
    warnings: list[str] = []
    train_aligner(
        [("today it is fine", line)] * 3,
        training_job(text_settings=TextSettings(tokenizer), warn=warnings.append),
    )
    assert "all 3 pairs are the same" in warnings.pop()
    assert [w.split(" (")[0].split(",")[0] for w in warnings] == ([] if expected is None else [expected])
    assert all(w.endswith("or learn a model with the tokenizer icu") for w in warnings)

"""The report as a file: what it holds, what it allows, how large it is. The browser tests look at it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import nmtalign as na
from nmtalign import AlignedPair, Alignment, AlignmentMatrix, DataError, GoldAlignment, UsageError
from nmtalign.aligner.opening import fit_to, vector_aligner
from nmtalign.decoding.extraction_methods import DEFAULT_THRESHOLD, MIN_SECOND_POSTERIOR
from nmtalign.links.evaluation import evaluate
from nmtalign.report.chosen_pairs import MAX_PAIRS_WITH_PARTS
from nmtalign.report.html import report_page, write_report
from nmtalign.report.page_content import (
    SamplePair,
    best_sources,
    best_targets,
    distributions,
    headline,
    jump_widths,
    lexicon_rows,
    summarize,
)
from nmtalign.report.page_data import pack_weights
from nmtalign.text.bitext import SentencePair
from nmtalign.vectors.embeddings import Embeddings, Vocabulary
from tests.report.sample_pairs import CAT, HOSTILE_WORDS, aligned_pair, corpus, data_of, inflated


class Elements(HTMLParser):
    """Collect the elements of a page, and the text of scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": []}
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attributes)))
        self._inside = tag

    def handle_data(self, text: str) -> None:
        if self._inside in self.texts:
            self.texts[self._inside].append(text)
            self._inside = ""


def unpack(packed: list, levels: bytes, T: int, S: int) -> np.ndarray:
    """Read weights back the way the script does."""
    low, high, at = packed
    return low + (high - low) * np.array(list(levels[at : at + T * S]), dtype=float).reshape(T, S) / 255


@given(arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=st.floats(-3, 7)))
def test_packed_weights_are_off_by_at_most_half_a_level(weights: np.ndarray) -> None:
    span = weights.max() - weights.min()
    levels = bytearray(b"others")
    packed = pack_weights(weights, levels)
    np.testing.assert_allclose(unpack(packed, levels, *weights.shape), weights, atol=span / 510 + 2e-5)
    assert len(levels) == 6 + weights.size


def test_the_policy_allows_exactly_the_two_scripts_and_the_one_style() -> None:
    page = report_page([CAT])
    elements = Elements(page)
    policies = [a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none';")
    assert "unsafe" not in policies[0]
    hashes = re.findall(r"sha256-([^']+)", policies[0])
    *_, packed, unpacking = elements.texts["script"]
    texts = [json.loads(inflated(packed))["script"], unpacking, elements.texts["style"][0]]
    assert hashes == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]


def test_the_page_refers_to_nothing_outside_itself() -> None:
    elements = Elements(report_page([CAT])).found
    for tag, attributes in elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
        assert (attributes.get("href") or "#").startswith("#")
    assert "http:" not in re.sub(r'"http://www.w3.org/2000/svg"', "", report_page([CAT]))
    assert "https:" not in report_page([CAT])


def test_words_never_become_markup() -> None:
    words = [word or "x" for word in HOSTILE_WORDS]
    page = report_page(
        [SamplePair(1, aligned_pair(words, words), others={"</script>": Alignment(frozenset(), 23, 23)})],
        title="</title><script>window.hacked=8</script>",
    )
    assert [tag for tag, _ in Elements(page).found].count("script") == 4
    assert "window.hacked=1<" not in page
    assert data_of(page)["pairs"][0]["s"][:3] == words[:3]
    assert not [c for c in page if c in "\0\x07\u202e\u2066"]


def test_the_same_pairs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_report(tmp_path / name, corpus(3, 6))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_50_pairs_of_25_words_stay_under_170_kB_and_250_under_400_kB() -> None:
    assert len(report_page(corpus(50, 25)).encode()) < 170_000
    assert len(report_page(corpus(250, 25)).encode()) < 400_000


def test_400_pairs_with_heads_stay_under_700_kB() -> None:
    pairs = corpus(400, 25, compared=False)
    heads = [
        {"first": p.aligned.forward, "second": p.aligned.reverse} if n < MAX_PAIRS_WITH_PARTS else {}
        for n, p in enumerate(pairs)
    ]
    page = report_page([replace(pair, parts=own) for pair, own in zip(pairs, heads, strict=True)])
    assert len(page.encode()) < 700_000


def test_a_pair_holds_what_the_script_draws() -> None:
    data = data_of(report_page([replace(CAT, line=1), CAT]))
    pair, levels = data["pairs"][1], data["levels"]
    assert pair["l"] == [0, 0, 900, 1, 2, 748, 2, 1, 825]
    assert pair["g"] == [0, 0, 1, 1, 2, 1, 3, 3, 1]
    assert pair["o"] == [[0, 0, 2, 1, 3, 3]]
    assert pair["bf"] == [0, 2, 1, -1]  # dort: null 0.5 is likelier than black 0.25
    assert pair["nt"] == pytest.approx([0, 0, 100, 500], abs=1000 / 510)
    assert pair["u"] == [[3], []]
    assert pair["a"] == pytest.approx(1 - 4 / 6, abs=1e-4)
    forward = unpack(pair["m"]["forward"], levels, 4, 4)
    np.testing.assert_allclose(forward, CAT.aligned.forward, atol=0.9 / 510)


def test_heads_and_the_lines_of_the_text_are_in_the_page() -> None:
    data = data_of(
        report_page(
            [replace(CAT, parts={"head 3": CAT.aligned.forward.T}), replace(CAT, line=18)],
            gold=[*["0-0"] * 39, ""],
        )
    )
    assert data["views"] == ["combined", "forward", "reverse", "head 3"]
    assert data["lines"] == 40
    assert set(data["rest"].items()) == {(str(n), "0-0") for n in range(1, 40) if n not in (17, 18)}
    found = [pair["m"] for pair in data["pairs"]]
    head = unpack(found[0]["head 3"], data["levels"], 4, 4)
    np.testing.assert_allclose(head, CAT.aligned.forward.T, atol=0.9 / 510)
    assert list(found[1]) == ["combined", "forward", "reverse"]
    assert data["id"] != data_of(report_page([CAT]))["id"]  # what is corrected is kept by it


def test_a_plain_matrix_is_enough() -> None:
    plain = AlignedPair(
        Alignment({(0, 0)}, 2, 1), AlignmentMatrix(np.array([[3.0, -1.0]]), ("a", "b"), ("c",))
    )
    data = data_of(report_page([SamplePair(1, plain)]))
    assert data["views"] == ["combined"]
    assert data["compare"] == "none"
    assert data["pairs"][0]["nt"] is None
    assert data["pairs"][0]["a"] is None
    assert data["pairs"][0]["l"] == [0, 0, 3000]


def test_empty_sentences_and_an_empty_report_are_pages() -> None:
    empty = AlignedPair(Alignment(frozenset(), 0, 2), AlignmentMatrix(np.zeros((2, 0)), (), ("a", "b")))
    data = data_of(report_page([SamplePair(1, empty)]))
    assert data["pairs"][0]["m"] == {"combined": [0.0, 1.0, 0]}
    assert data["pairs"][0]["bf"] == [-1, -1]
    assert data_of(report_page([]))["pairs"] == []


def test_best_partners_follow_the_tie_rule() -> None:
    even = AlignedPair(
        Alignment(frozenset(), 3, 3), AlignmentMatrix(np.ones((3, 3)), ("a", "b", "c"), ("d", "e", "f"))
    )
    assert best_sources(even) == [0, 1, 2]  # nearest the diagonal
    assert best_targets(even) == [0, 1, 2]


def test_links_of_other_words_are_refused_with_the_number_of_the_pair() -> None:
    aligned = CAT.aligned
    with pytest.raises(DataError, match=r"pair 5: link 4-0 is outside a pair of 4 source and 4 target words"):
        SamplePair(5, aligned, GoldAlignment(frozenset(), frozenset({(4, 0)})))
    with pytest.raises(DataError, match=r"pair 5: link 0-9"):
        SamplePair(5, aligned, others={"x": Alignment({(0, 9)}, 4, 10)})
    with pytest.raises(UsageError, match="numbers must be unique"):
        report_page([CAT, CAT])
    with pytest.raises(UsageError, match="same other systems"):
        report_page([CAT, SamplePair(18, aligned)])
    with pytest.raises(UsageError, match="same other systems"):
        report_page([CAT, SamplePair(18, CAT.aligned, CAT.gold)])


def test_statistics_of_a_sample() -> None:
    statistics = {
        statistic.name: statistic for statistic in summarize([CAT], evaluate([CAT.aligned], [CAT.gold]))
    }
    assert statistics["Words"].value == "8"
    assert statistics["Links"].value == "3"
    assert statistics["Precision"].value == "66.7 %"
    assert statistics["AER"].value == "33.3 %"
    assert statistics["F1 with other"] == ("F1 with other", "66.7 %", "2 both, 1 only here, 1 only there", "")
    assert headline(list(statistics.values())) == "1 pair, AER 33.3 % ± 0.0"


def test_the_headline_says_the_error_else_the_agreement_else_the_score() -> None:
    compared = SamplePair(17, CAT.aligned, None, CAT.others)
    assert headline(summarize([compared])) == "1 pair, F1 with other 66.7 %"
    assert headline(summarize([SamplePair(17, CAT.aligned)])) == "1 pair, mean pair score 0.62"
    assert headline(summarize([])) == "0 pairs"


def test_jumps_and_lexicon_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jump_widths([CAT]).tolist() == [2, -1]  # le-the, chat-cat, noir-black
    assert lexicon_rows([CAT]) == [("the", "le", 1, 900), ("cat", "chat", 1, 825), ("black", "noir", 1, 748)]
    monkeypatch.setattr("nmtalign.report.page_content.MAX_LEXICON_ROWS", 2)
    assert [links for *_, links, _ in lexicon_rows([CAT, SamplePair(18, CAT.aligned)])] == [2, 2]


@pytest.mark.parametrize(
    ("chosen", "rule"),
    [
        ({"extract": "itermax"}, ("itermax", None, None)),
        ({"symmetrize": "grow-diag", "threshold": 0.25}, ("grow-diag", 0.25, None)),
        ({"positions": "hmm"}, ("posterior", DEFAULT_THRESHOLD, MIN_SECOND_POSTERIOR)),
        ({"positions": "hmm", "threshold": 0.6}, ("posterior", 0.6, None)),
        ({"positions": "hmm", "extract": "one-to-one"}, ("one-to-one", DEFAULT_THRESHOLD, None)),
    ],
)
def test_the_rule_is_that_of_the_aligner(chosen: dict, rule: tuple[str, float | None, float | None]) -> None:
    sides = [Embeddings(Vocabulary.from_words(["a"]), np.ones((1, 1))) for _ in range(2)]
    aligned = fit_to(vector_aligner(*sides, **chosen), [SentencePair("a", "a")]).align("a", "a")
    found = data_of(report_page([SamplePair(1, aligned)]))["rule"]
    assert (found["name"], found["threshold"], found["second"]) == rule


def test_an_empty_report_has_no_rule() -> None:
    assert data_of(report_page([]))["rule"] == {"name": "", "threshold": None, "second": None}


def test_scores_outside_0_to_1_get_their_own_bins() -> None:
    pairs = [SamplePair(n, replace(CAT.aligned, score=float(n))) for n in (-3, 1, 7)]
    scores = distributions(pairs)[0]
    assert (scores.title, scores.labels[0], sum(scores.counts)) == ("Pair scores", "-3.0", 3)
    assert [d.labels[0] for d in distributions([CAT])][:2] == [".0", ".0"]


def test_pairs_of_text_are_aligned_for_the_report(tmp_path: Path) -> None:
    aligner = na.load()
    english, french = ["the cat", "a dog"], ["le chat", "un chien"]
    table = pd.DataFrame({"fr": french, "en": english})
    records = [{"translation": {"en": "the cat", "fr": "le chat"}}]
    records.append({"translation": {"en": "a dog", "fr": "un chien"}})
    write_report(tmp_path / "batch.html", aligner.align_batch(english, french))
    expected = (tmp_path / "batch.html").read_bytes()

    path = tmp_path / "report.html"
    for pairs in (list(zip(english, french, strict=True)), (english, french), table, records):
        write_report(path, pairs, aligner=aligner)
        assert path.read_bytes() == expected
    write_report(path, english, french, aligner=aligner)
    assert path.read_bytes() == expected
    write_report(path, table, aligner=aligner, source="en", target="fr")
    assert path.read_bytes() == expected


def test_a_report_of_text_needs_an_aligner_and_one_of_aligned_pairs_needs_none(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    table = pd.DataFrame({"en": ["a"], "fr": ["b"]})
    for call in (
        lambda: write_report(path, [("a", "b")]),
        lambda: write_report(path, table),
        lambda: write_report(path, ["a"], ["b"]),
        lambda: write_report(path, table, source="en", target="fr"),
    ):
        with pytest.raises(UsageError, match=r"write_report\(path, pairs, aligner=aligner\)"):
            call()
    for aligned in ([CAT], [CAT.aligned], na.load().align_batch([("a", "b")])):
        with pytest.raises(UsageError, match="found aligned pairs; omit `aligner`"):
            write_report(path, aligned, aligner=na.load())
    with pytest.raises(UsageError, match=r"expected an aligner, as in .*found 'en_fr_model'"):
        write_report(path, table, aligner="en_fr_model")
    assert not path.exists()

"""Phrases of dictionaries complete links: *according to* for *selon*."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nmtalign as na
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.errors import DataError
from nmtalign.scorers import dictionary_phrases
from nmtalign.scorers.dictionary_phrases import Phrase, Phrases
from nmtalign.state import fingerprints

Links = dict[tuple[int, int], float]  # posteriors by source and target


def text_of(source: str, target: str) -> EncodedText:
    return encode_text([(source.split(), target.split())])


def completed(entries: list[Phrase], source: str, target: str, links: Links) -> Links:
    """Return the links of a pair with those that complete phrases."""
    text = text_of(source, target)
    s, t = (np.array(column) for column in zip(*links, strict=True))
    posterior = np.array(list(links.values()))
    bucket = text.buckets[0]
    cells, posterior = Phrases(entries, (0, 0)).complete(text, bucket, (t, s, 0 * t), posterior)
    return dict(zip(zip(cells[1].tolist(), cells[0].tolist(), strict=True), posterior.tolist(), strict=True))


def test_a_linked_word_of_a_phrase_links_the_others() -> None:
    entry = ("according to", "selon")
    links = {(0, 0): 0.75, (3, 1): 0.5}
    assert completed([entry], "according to the law", "selon loi", links) == {**links, (1, 0): 0.75}
    swapped = {(0, 0): 0.75, (1, 3): 0.5}
    found = completed([entry[::-1]], "selon loi", "according to the law", swapped)
    assert found == {**swapped, (0, 1): 0.75}


def test_a_long_phrase_is_completed_in_the_middle_and_at_both_ends() -> None:
    entry = ("尽快", "as soon as possible")
    found = completed([entry], "请 尽快 来", "come as soon as possible please", {(1, 2): 0.5})
    assert set(found) == {(1, n) for n in (1, 2, 3, 4)}


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("according to the law", "selon loi", {(3, 1): 0.5}),  # no word of the phrase is linked
        ("according to the law", "selon loi", {(0, 0): 0.5, (1, 1): 0.5}),  # the other has a link
        ("according the to law", "selon loi", {(0, 0): 0.5}),  # not side by side
        ("to according the law", "selon loi", {(1, 0): 0.5}),  # in another order
        ("according", "selon loi", {(0, 0): 0.5}),
    ],
)
def test_other_links_stay(source: str, target: str, links: Links) -> None:
    assert completed([("according to", "selon")], source, target, links) == links


def test_a_phrase_that_translates_many_words_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [("of the", "du"), ("of the", "des")]
    links = {(0, 0): 0.5}
    assert (1, 0) in completed(entries, "of the", "du", links)
    monkeypatch.setattr(dictionary_phrases, "MAX_PHRASE_TRANSLATIONS", 1)
    assert completed(entries, "of the", "du", links) == links


def test_only_phrases_of_the_text_are_kept() -> None:
    entries = [("according to", "selon"), ("to the", "loi"), ("at least", "selon")]
    kept = Phrases(entries, (0, 0)).occurring(text_of("according to the law", "selon loi"))
    assert kept.entries == entries[:2]


TEXT = [("for you", "für dich"), ("for me", "für mich"), ("with me", "mit mir")] * 9
TEXT += [("for example", "beispielsweise")]


def test_a_dictionary_completes_links_of_any_later_text(tmp_path: Path) -> None:
    prior = [("for example", "beispielsweise"), ("zebra crossing", "zebrastreifen")]
    aligner = na.train(TEXT, prior=prior, workers=1)
    aligner.save(tmp_path / "m")
    pair = "for example with me", "beispielsweise mit mir"
    expected = {(0, 0), (1, 0), (2, 1), (3, 2)}
    without = na.train(TEXT, prior=[("example", "beispielsweise")], workers=1)
    assert without.align(*pair).alignment.links == expected - {(0, 0)}
    assert aligner.align(*pair).alignment.links == expected
    opened = na.load(tmp_path / "m")
    assert opened.align(*pair).alignment.links == expected
    assert opened.lexicon.phrases is not None
    assert opened.lexicon.phrases.entries == [("for example", "beispielsweise")]
    continued = na.train(TEXT[:2], init=tmp_path / "m", workers=1)
    assert continued.align(*pair).alignment.links == expected
    one_to_one = na.load(tmp_path / "m", extract="one-to-one").align(*pair)
    assert len(one_to_one.alignment.links) == 3


def test_a_damaged_list_of_phrases_is_told(tmp_path: Path) -> None:
    na.train(TEXT, prior=[("for example", "beispielsweise")], workers=1).save(tmp_path / "m")
    path = tmp_path / "m" / "scorer.lexicon.phrases.target.txt"
    path.write_text("zum beispiel\n", encoding="utf-8")
    meta = json.loads((tmp_path / "m" / "meta.json").read_text(encoding="utf-8"))
    del meta["files"]
    (tmp_path / "m" / "meta.json").write_text("{}", encoding="utf-8")
    files = {name: value for name, value in fingerprints(tmp_path / "m").items() if name != "meta.json"}
    (tmp_path / "m" / "meta.json").write_text(json.dumps({**meta, "files": files}), encoding="utf-8")
    with pytest.raises(DataError, match="expected a word and its translation of several words"):
        na.load(tmp_path / "m")

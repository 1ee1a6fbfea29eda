"""Calls in Python that look right: home folders, sides as two arguments, arrays of a result."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import nmtalign as na

PAIRS = [("the cat", "le chat"), ("a dog", "un chien")]


@pytest.fixture(scope="module")
def aligner() -> na.Aligner:
    return na.load()


@pytest.fixture(scope="module")
def batch(aligner: na.Aligner) -> na.AlignedBatch:
    return aligner.align_batch(PAIRS)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))  # Windows
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_a_tilde_is_the_home_folder(home, aligner, batch):
    aligner.save("~/model")
    na.write_links("~/links.txt", batch)
    na.write_report("~/report.html", batch)
    batch[0].save("~/pair.svg")
    names = sorted(path.name for path in home.iterdir() if not path.name.startswith("."))
    assert names == ["links.txt", "model", "pair.svg", "report.html"]
    assert not (home.parent / "~").exists()
    assert na.load("~/model").align(*PAIRS[0]).links == aligner.align(*PAIRS[0]).links
    assert len(na.read_gold("~/links.txt")) == len(PAIRS)


@pytest.mark.parametrize("name", ["source", "target", "offsets", "probability", "scores"])
def test_the_arrays_of_a_batch_cannot_be_changed(batch, name):
    before = getattr(batch, name).copy()
    with pytest.raises(ValueError, match="read-only"):
        getattr(batch, name)[0] = 99
    assert (getattr(batch, name) == before).all()


def test_two_sides_are_two_arguments(aligner, batch):
    sources, targets = zip(*PAIRS, strict=True)
    aligned = aligner.align_batch(list(sources), list(targets))
    assert [pair.links for pair in aligned] == [pair.links for pair in batch]
    assert list(na.Bitext(list(sources), list(targets))) == [*map(tuple, PAIRS)]


def test_a_tuple_of_two_tuples_may_be_two_pairs_or_two_sides(aligner):
    with pytest.raises(na.UsageError, match="which may be either; write two pairs as a list"):
        aligner.align_batch((("a house", "une maison"), ("a cat", "un chat")))


def test_a_colormap_goes_where_its_name_goes(batch):
    from matplotlib import colormaps

    by_name = batch[0].heatmap(cmap="Greys")
    by_object = batch[0].heatmap(cmap=colormaps["Greys"])
    images = [figure.axes[0].collections or figure.axes[0].images for figure in (by_name, by_object)]
    assert images[0][0].get_cmap() == images[1][0].get_cmap() == colormaps["Greys"]


def test_an_aligner_in_memory_gets_other_settings():
    aligner = na.load()
    strict = na.load(aligner, threshold=0.99)
    assert strict.align("the black cat", "le chat noir").links == [(1, 2), (2, 1)]
    assert len(aligner.align("the black cat", "le chat noir").links) == 3
    assert "extract=one-to-one" in na.load(aligner, extract="one-to-one").description
    assert na.load(aligner, tokenizer="space").text_settings.tokenizer == "space"
    vectors = na.load(na.load("en_fr_vectors"), extract="argmax")
    assert "extract=argmax" in vectors.description
    with pytest.raises(na.UsageError, match="`score` applies to word vectors only, and this is an aligner"):
        na.load(aligner, score="dot")


def test_errors_of_gold_links_count_from_0_and_name_the_index(aligner: na.Aligner, tmp_path: Path) -> None:
    frame = pd.DataFrame(PAIRS, columns=["en", "fr"], index=["s1", "s2"])
    batch, gold = aligner.align_batch(frame), ["0-0", "9-9"]
    with pytest.raises(na.DataError, match=r"^pair 1 \(index 's2'\): gold link 9-9 is outside"):
        na.evaluate(batch, gold)
    with pytest.raises(na.DataError, match=r"^pair 1 \(index 's2'\): gold link 9-9 is outside"):
        na.write_report(tmp_path / "x.html", batch, gold=gold)
    with pytest.raises(na.DataError, match=r"^pair 1: gold link 9-9 is outside"):
        na.write_report(tmp_path / "x.html", list(batch), gold=gold)


@pytest.mark.parametrize(
    "call",
    [
        lambda: na.train(PAIRS, epochs=3),
        lambda: na.train(PAIRS, PAIRS, PAIRS),
        lambda: na.load("en_fr_model", "argmax"),
        lambda: na.evaluate(),
        lambda: na.load().align("a", "b").heatmap(colors="gray"),
        lambda: na.attention.softmax([1.0], temprature=2),
        lambda: na.AlignedBatch(),
    ],
)
def test_a_call_whose_arguments_do_not_fit_is_a_type_error(call):
    with pytest.raises(TypeError, match="argument"):
        call()


def test_an_unknown_name_is_an_attribute_error(batch):
    for owner, name in ((na, "align"), (na.attention, "atend"), (batch, "df"), (batch[0], "plot")):
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(owner, name)


def test_a_matrix_is_an_array_to_numpy(batch):
    matrix = batch[0].matrix
    assert np.asarray(matrix) is matrix.weights
    np.testing.assert_array_equal(np.array(matrix), matrix.weights)
    assert np.array(matrix).flags.writeable
    assert np.asarray(matrix, np.float64).dtype == np.float64
    assert np.sqrt(matrix).shape == matrix.weights.shape
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(matrix)[0, 0] = 1


def _reordered_calls():
    """Return calls with two results of the same pairs; the second one is given in some order."""
    frame = pd.DataFrame(
        {"en": ["the cat", "red wine"], "fr": ["le chat", "vin rouge"], "links": ["0-0 1-1", "0-1 1-0"]},
        index=["d", "a"],
    )
    aligner = na.load()
    batch = aligner.align_batch(frame)
    return frame.links, {
        "evaluate": lambda links: na.evaluate(batch, links),
        "evaluate columns": lambda links: na.evaluate(frame.links, links),
        "symmetrize": lambda links: na.symmetrize(batch, links),
        "compare": lambda links: batch.compare(batch[getattr(links, "index", slice(None))]),
        "expert": lambda links: aligner.align_batch(frame, expert=links),
        "expert of training": lambda links: na.train(frame, expert=links),
    }


@pytest.mark.parametrize(
    "name", ["evaluate", "evaluate columns", "symmetrize", "compare", "expert", "expert of training"]
)
def test_links_in_another_order_than_their_pairs_are_refused(name: str) -> None:
    """The index of a column says which pairs it is about, as it does for tags and for two columns of text."""
    links, calls = _reordered_calls()
    for same in (links, links.tolist(), links.reset_index(drop=True)):
        if name != "compare" or same is links:
            calls[name](same)
    with pytest.raises(na.UsageError, match="in the same order, found 'd' and 'a' at position 0"):
        calls[name](links.sort_index())

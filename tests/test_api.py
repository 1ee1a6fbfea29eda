"""The Python door as users have it: each block of the contract, and what is refused, in words."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import nmtalign as na
from nmtalign.attention import softmax
from nmtalign.text.bitext import named_languages
from nmtalign.vectors.embeddings import Vocabulary
from tests.report.sample_pairs import data_of

PAIRS = [("a house", "une maison"), ("the house", "la maison"), ("a car", "une auto")] * 5
LINKS = {(0, 0), (1, 1)}


@pytest.fixture(scope="module")
def shipped() -> na.Aligner:
    return na.load()


@pytest.fixture(scope="module")
def batch(shipped):
    return shipped.align_batch(PAIRS)


@pytest.fixture
def bitext(tmp_path):
    for n, name in enumerate(("text.en", "text.fr")):
        (tmp_path / name).write_text("".join(f"{pair[n]}\n" for pair in PAIRS), encoding="utf-8")
    return na.read_bitext(tmp_path / "text.en", tmp_path / "text.fr", encoding="utf-8")


def test_a_bitext_is_read_again_at_will(bitext):
    assert [tuple(pair) for pair in bitext] == [tuple(pair) for pair in bitext] == PAIRS
    assert len(bitext) == 15
    assert bitext[0] == bitext[-15] == PAIRS[0]
    assert [tuple(pair) for pair in bitext[3:9]] == PAIRS[3:9]
    assert bitext.frame().columns.tolist() == ["source", "target"]
    assert bitext.frame().iloc[4].tolist() == list(PAIRS[4])
    for n in (15, -16):
        with pytest.raises(IndexError, match=f"pair index {n} is out of range for 15 pairs"):
            bitext[n]


def test_parts_and_frames_of_a_bitext_keep_its_index_and_languages(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(PAIRS, columns=("fr", "en"), index=[f"s{n}" for n in range(15)])
    bitext = na.Bitext(frame)
    assert bitext.frame().index.tolist() == frame.index.tolist()
    assert bitext[3:5].frame().index.tolist() == ["s3", "s4"]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="fr"><seg>{target}</seg></tuv></tu>'
        for source, target in PAIRS
    )
    (tmp_path / "memory.tmx").write_text(
        f'<tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'
    )
    memory = na.read_bitext(tmp_path / "memory.tmx")
    assert named_languages(memory) == named_languages(memory[:3]) == named_languages(memory[:3][1:])
    assert named_languages(memory[:3]) == ("en", "fr")
    assert named_languages(bitext) == named_languages(bitext[:3]) == ("fr", "en")
    assert repr(memory[:1]) == "Bitext of 1 pair from memory.tmx"


def test_whatever_holds_pairs_is_learned_the_same(bitext):
    pd = pytest.importorskip("pandas")
    source, target = map(list, zip(*PAIRS, strict=True))
    frame = pd.DataFrame(PAIRS, columns=("en", "fr"))
    kinds = (PAIRS, (source, target), frame, (pair for pair in PAIRS), np.array(PAIRS), bitext.frame())
    learned = na.train(bitext, workers=1).training["corpus"]
    for given in kinds:
        assert na.train(given, workers=1).training["corpus"] == learned
    words = na.train([(["a", "b"], ["x", "y"]), (["a"], ["x"])] * 5, workers=1).lexicon
    assert words.source_words[1:] == ["a", "b"]


def test_without_progress_nothing_is_shown(capsys):
    na.train(PAIRS, workers=1)
    assert capsys.readouterr().err == ""


def test_a_pair_has_words_links_and_arrays(shipped):
    pair = shipped.align("the black cat", "le chat noir")
    assert repr(pair) == "the-le  black-noir  cat-chat"
    assert pair.links == [(0, 0), (1, 2), (2, 1)]
    assert [words[:2] for words in pair.words] == [("the", "le"), ("black", "noir"), ("cat", "chat")]
    assert [words[2] for words in pair.words] == [pair.probabilities[link] for link in pair.links]
    for array in (pair.posterior, pair.forward, pair.reverse, pair.scores):
        assert array.shape == (3, 3)
    assert pair.table()["source_word"].tolist() == ["the", "black", "cat"]
    matrix = pair.matrix.table()
    assert (list(matrix.columns), list(matrix.index)) == (["the", "black", "cat"], ["le", "chat", "noir"])
    assert "<iframe" in pair.show()._repr_html_()


def test_scores_are_those_before_the_softmax():
    pair = na.load("en_fr_vectors", score="scaled-dot", positions="none").align(
        "the black cat", "le chat noir"
    )
    np.testing.assert_allclose(softmax(pair.scores, axis=1), pair.forward, atol=1e-6)
    np.testing.assert_allclose(softmax(pair.scores, axis=0), pair.reverse, atol=1e-6)


def test_scores_of_a_learned_model_are_log_ratios(shipped):
    """The ratio of a pair of words is the same in any sentence pair."""
    alone, longer = shipped.align("cat", "chat"), shipped.align("the black cat", "le chat noir")
    assert alone.scores[0, 0] == longer.scores[1, 2] > 5
    assert longer.scores[0, 2] < 0


@pytest.mark.parametrize("name", ["cat.svg", "cat.png", "cat.pdf"])
def test_a_pair_is_saved_as_a_picture(shipped, tmp_path, name):
    pair = shipped.align("the black cat", "le chat noir")
    shown = {
        "combined": pair.posterior,
        "forward": pair.forward,
        "reverse": pair.reverse,
        "scores": pair.scores,
    }
    for values, weights in shown.items():
        cells = pair.heatmap(values=values).axes[0].collections[0].get_array()
        np.testing.assert_array_equal(cells.reshape(3, 3), weights)
    pair.save(tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000


def test_a_batch_is_a_sequence_of_pairs(shipped, batch):
    assert len(batch) == len(list(batch)) == 15
    assert [pair.words for pair in batch[3:9]] == [batch[n].words for n in range(3, 9)]
    assert [pair.links for pair in batch[::-4]] == [batch.links(n) for n in (14, 10, 6, 2)]
    assert batch.links(-1) == batch[-1].links == batch[14].links
    assert batch[2:][1:][0].words == batch[3].words
    for n in (15, -16):
        for get in (batch.links, batch.__getitem__):
            with pytest.raises(IndexError):
                get(n)
    table = batch.table()
    assert len(table) == sum(len(pair.links) for pair in batch)
    assert table["pair"].tolist()[-1] == 14, "as batch[14]"
    assert table["source_word"].tolist()[:2] == ["a", "house"]
    assert batch.scores.tolist() == [pair.score for pair in batch]


def test_attention_of_a_pair_of_a_batch_has_the_bits_of_the_pair_alone(shipped, batch):
    pair, alone = batch[1], shipped.align(*PAIRS[1])
    assert "_aligned" not in vars(pair), "attention is computed when it is asked for"
    assert (pair.links, pair.words, pair.score, pair.alignment) == (
        alone.links,
        alone.words,
        alone.score,
        alone.alignment,
    )
    assert "_aligned" not in vars(pair)
    for name in ("posterior", "forward", "reverse", "scores", "target_null"):
        np.testing.assert_array_equal(getattr(pair, name), getattr(alone, name))
    assert (pair.description, pair.extraction, pair.threshold) == (
        alone.description,
        alone.extraction,
        alone.threshold,
    )
    assert pickle.loads(pickle.dumps(batch[1:2]))[0].words == alone.words


@pytest.mark.parametrize("kind", ["batch", "sets", "lines", "alignments", "pairs", "file"])
def test_links_and_gold_of_all_kinds_are_evaluated(batch, tmp_path, kind):
    lines = [" ".join(f"{s}-{t}" for s, t in batch.links(n)) for n in range(15)]
    (tmp_path / "links").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = {
        "batch": batch,
        "sets": [set(batch.links(n)) for n in range(15)],
        "lines": lines,
        "alignments": [pair.alignment for pair in batch],
        "pairs": list(batch),
        "file": tmp_path / "links",
    }
    gold = [na.GoldAlignment({(0, 0)}, LINKS)] * 15
    found = {len(set(map(tuple, batch.links(n))) ^ LINKS) for n in range(15)}
    assert found == {0}, "the shipped model aligns these pairs word by word"
    for golds in (gold, ["0-0 1p1"] * 15):
        assert na.evaluate(given[kind], golds).precision == na.evaluate(given[kind], golds).recall == 1.0
    assert na.evaluate(batch, given[kind]).aer == 0.0


def test_a_batch_becomes_a_report(batch, tmp_path):
    na.write_report(tmp_path / "report.html", batch, gold=[LINKS] * 15)
    pairs = data_of((tmp_path / "report.html").read_text(encoding="utf-8"))["pairs"]
    assert sum("maison" in pair["t"] for pair in pairs) >= 10
    assert pairs[0]["g"] == [0, 0, 1, 1, 1, 1]


def test_vectors_of_gensim_go_in_and_out():
    models = pytest.importorskip("gensim.models")
    vectors = {"en": (["cat", "black"], np.eye(2)), "fr": (["noir", "chat"], np.eye(2)[::-1])}
    sides = []
    for words, matrix in vectors.values():
        sides.append(models.KeyedVectors(2))
        sides[-1].add_vectors(words, matrix.astype(np.float32))
    aligner = na.load((sides[0], sides[1]), score="scaled-dot")
    assert aligner.align("black cat", "chat noir").links == [(0, 1), (1, 0)]
    back = na.Embeddings.from_gensim(sides[1]).to_gensim()
    assert back.index_to_key == ["noir", "chat"]
    np.testing.assert_array_equal(back.vectors, sides[1].vectors)
    assert na.load(tuple(map(na.Embeddings.from_gensim, sides))).align("cat", "chat").links == [(0, 0)]


def test_each_object_shows_itself_in_one_short_line(shipped, batch, bitext):
    pair, long = batch[0], shipped.align("the cat " * 90, "le chat " * 90)
    gold = na.GoldAlignment({(n, n) for n in range(90)}, {(n, n) for n in range(90)})
    objects = [shipped, pair, long, long.alignment, long.matrix, batch, bitext, bitext[:2], gold]
    objects += [
        shipped.lexicon,
        shipped.scorer,
        shipped.positions,
        shipped.extraction,
        na.SamplePair(1, long),
    ]
    objects += [na.evaluate(batch, batch), na.load("en_fr_vectors"), na.load("en_fr_vectors").scorer.source]
    for one in objects:
        assert len(repr(one)) < 200, type(one)
        assert repr(one).isprintable(), type(one)
    told = ["en-fr", "lexicon+spectral", "hmm", f"{shipped.training['corpus']['pairs']:,} pairs"]
    told.append(
        f"{len(shipped.lexicon.source_words) - 1:,} and {len(shipped.lexicon.target_words) - 1:,} words"
    )
    assert not [words for words in told if words not in repr(shipped)]


def test_results_have_a_hash_and_compare_without_an_error(shipped, batch):
    pair = batch[0]
    own = [
        shipped,
        pair,
        pair.matrix,
        pair.alignment,
        batch,
        na.evaluate(batch, batch),
        na.SamplePair(1, pair),
    ]
    for one in own:
        assert isinstance(hash(one), int)
        assert one == one
        assert one != pickle.loads(pickle.dumps(batch[1]))
    assert pair == pickle.loads(pickle.dumps(pair))


def words(*given: str) -> na.Embeddings:
    return na.Embeddings(Vocabulary.from_words(given), np.eye(len(given)))


def used_up():
    pairs = iter(PAIRS)
    list(pairs)
    return pairs


def table(*columns: str):
    return pytest.importorskip("pandas").DataFrame([("x",) * len(columns)], columns=list(columns))


USAGE, DATA = na.UsageError, na.DataError
TRAINED = {  # bitexts, also of align_batch
    "a path": ("text.en", USAGE, "found 'text.en'; nmtalign.read_bitext reads files"),
    "a Path": (Path("text.en"), USAGE, "nmtalign.read_bitext reads files"),
    "bytes": (b"text", USAGE, "found b'text'"),
    "nothing": (None, USAGE, "expected sentence pairs .*found None"),
    "a number": (5, USAGE, "expected sentence pairs .*found 5"),
    "a dictionary": ({"en": "a", "fr": "b"}, USAGE, "dictionary of columns.*found 'a' as 'en'"),
    "a set": ({("a", "b")}, USAGE, "in an order.*found a set"),
    "an iterator used twice": (used_up, USAGE, "nothing left.*pass a list"),
    "three columns": (lambda: table("a", "b", "c"), USAGE, "two columns, found 3: a, b, c; name both"),
    "one column": (lambda: table("en"), USAGE, "two columns, found 1: en"),
    "letters": (["ab", "cd"], DATA, r"pair 0: expected a pair \(source, target\), found 'ab'"),
    "numbers for pairs": ([1, 2], DATA, "pair 0: expected a pair .*found 1"),
    "numbers for sides": ([(1, 2)], DATA, "pair 0: .*as source, found 1"),
    "three sides": ([("a", "b", "c")], DATA, "pair 0: expected a pair"),
    "one side": ([("a",)], DATA, "pair 0: expected a pair"),
    "None in a row": ([("a", "b"), ("a", None)], DATA, "pair 1: .*as target, found None"),
    "NaN in a row": ([("a", "b"), (float("nan"), "b")], DATA, "pair 1: .*as source, found nan"),
    "a list beside a line": ([("a b", ["x"])], DATA, "pair 0: .*found one of each"),
    "lists after lines": ([("a", "b"), (["a"], ["b"])], DATA, "pair 1: expected lines of text for all"),
    "a line break": ([("a\nb", "x")], DATA, "pair 0: .*line break in the source"),
    "a break in a word": ([(["a"], ["x\n"])], DATA, r"pair 0: .*in the target, found 'x\\n'"),
    "an empty word": ([(["a", ""], ["x"])], DATA, "pair 0: .*in the source, found ''"),
    "a number as a word": ([(["a", 3], ["x"])], DATA, "pair 0: .*in the source, found 3"),
    "an unpaired surrogate": ([("a \ud800", "x")], DATA, "pair 0: .*an unpaired surrogate in the source"),
    "unequal sides": ((["a"], ["x", "y"]), DATA, "same number of source and target sentences, found 1 and 2"),
}
OPTIONS = {  # of train
    "a preset": ({"preset": "slow"}, USAGE, "`preset`: fast, default, found 'slow'"),
    "a tokenizer": ({"tokenizer": "nltk"}, USAGE, "tokenizers space, .*found 'nltk'"),
    "a form": ({"unicode": "utf-8"}, USAGE, "`unicode`: nfc, .*found 'utf-8'"),
    "lower case": ({"lowercase": "yes"}, USAGE, "True or False as `lowercase`, found 'yes'"),
    "one language": ({"languages": "en"}, USAGE, "like .'en', 'fr'., found 'en'"),
    "three languages": ({"languages": ("en", "fr", "de")}, USAGE, "a source and a target language"),
    "names of languages": (
        {"languages": ("English", "fr")},
        USAGE,
        "codes such as en, .*'English'; write en",
    ),
    "languages by number": ({"languages": (1, 2)}, USAGE, r"found \(1, 2\)"),
    "no workers": ({"workers": 0}, USAGE, "`workers` as an integer of at least 1, found 0"),
    "half a worker": ({"workers": 1.5}, USAGE, "`workers` as an integer of at least 1, found 1.5"),
    "a weight alone": ({"vectors_weight": 0.5}, USAGE, "`vectors_weight` applies to"),
    "a large weight": (
        {"vectors": "en_fr_vectors", "vectors_weight": 2},
        USAGE,
        "of at least 0 and at most 1, found 2",
    ),
    "a weight of text": (
        {"vectors": "en_fr_vectors", "vectors_weight": "x"},
        USAGE,
        "of at least 0 and at most 1, found 'x'",
    ),
    "vectors by number": ({"vectors": 3}, USAGE, "the path of a folder that has both, found 3"),
    "vectors of one side": ({"vectors": (words("a"),)}, USAGE, "source and target vectors, found 1"),
    "vectors of no folder": (
        {"vectors": "nowhere"},
        DATA,
        "^nowhere: expected a folder with word vectors",
    ),
    "an encoder by number": ({"encoder": 3}, USAGE, "the name or folder of an encoder, found 3"),
    "gold as an expert": (
        {"expert": [na.GoldAlignment({(0, 0)}, {(0, 0)})] * 15},
        DATA,
        "pair 0: expected links, found gold links",
    ),
    "a missing word list": ({"prior": "nowhere.txt"}, DATA, "^nowhere.txt: No such file"),
    "a missing model": ({"init": "nowhere"}, DATA, "^nowhere: expected"),
    "a missing gold file": ({"gold": "nowhere"}, DATA, "^nowhere: No such file"),
    "gold by number": ({"gold": 3}, USAGE, "expected gold links of each pair, or a path, found 3"),
    "no gold at all": ({"gold": []}, USAGE, "expected gold links, found none"),
    "truth as a weight": (
        {"vectors": "en_fr_vectors", "vectors_weight": True},
        USAGE,
        "at most 1, found True",
    ),
    "few gold links": ({"gold": [LINKS]}, DATA, "at least 50 pairs"),
}
LOADED = {  # what is opened, and the settings
    "nothing there": ("nowhere", {}, DATA, "^nowhere: there is no such folder; .* multilingual$"),
    "truth as a limit": (
        "en_fr_vectors",
        {"limit": True},
        USAGE,
        "expected `limit` as an integer of at least 1, found True",
    ),
    "truth as a temperature": (
        "en_fr_vectors",
        {"temperature": True},
        USAGE,
        "`temperature` as a number above 0, found True",
    ),
    "junk": (Path(__file__).parent / "corpus", {}, DATA, "name two files by --source-vectors"),
    "a number": (3, {}, USAGE, "path of a folder, .*, found 3"),
    "a setting of vectors": (None, {"score": "cosine"}, USAGE, "`score` applies to word vectors only"),
    "a high threshold": (None, {"threshold": 1.5}, USAGE, "above 0 and at most 1, found 1.5"),
    "NaN as threshold": (None, {"threshold": float("nan")}, USAGE, "above 0 and at most 1, found nan"),
    "a truth value as threshold": (None, {"threshold": True}, USAGE, "above 0 and at most 1, found True"),
    "text as threshold": (None, {"threshold": "high"}, USAGE, "above 0 and at most 1, found 'high'"),
    "an extraction": (None, {"extract": "viterbi"}, USAGE, "`extract`: posterior, .*found 'viterbi'"),
    "a score": ("en_fr_vectors", {"score": "l2"}, USAGE, "`score`: dot, .*found 'l2'"),
    "a temperature": (
        "en_fr_vectors",
        {"temperature": 0},
        USAGE,
        "`temperature` as a number above 0, found 0",
    ),
    "a limit": ("en_fr_vectors", {"limit": 0}, USAGE, "`limit` as an integer of at least 1, found 0"),
    "positions": ("en_fr_vectors", {"positions": "ibm4"}, USAGE, "found 'ibm4'"),
    "a language": ("en_fr_vectors", {"languages": ("en", "de")}, DATA, "of the language 'de', found en, fr"),
    "one language": ("en_fr_vectors", {"languages": "en"}, USAGE, "a source and a target language"),
    "weights": (
        "en_fr_vectors",
        {"score": "bahdanau", "parameters": "nowhere"},
        DATA,
        "^nowhere: No such file",
    ),
    "no threshold": (None, {"threshold": 0.0}, USAGE, "above 0 and at most 1, found 0.0"),
    "missing files": (("no.kv", "nor.kv"), {}, DATA, r"^no\.kv: no such file"),
    "numbers": ((1, 2), {}, USAGE, "expected Embeddings, a path, gensim's KeyedVectors, .*; found 1"),
    "unequal spaces": ((words("a"), words("a", "b")), {}, DATA, "has 1 dimensions, .* has 2"),
    "a limit of vectors": (
        (words("a"), words("b")),
        {"limit": 3},
        USAGE,
        "`limit` applies to a folder or files",
    ),
}
CALLS = {
    "columns by one name": (lambda: na.read_bitext("a", select="en"), USAGE, "as `select`, .*found 'en'"),
    "truth as a column": (lambda: na.read_bitext("a", select=(True, 2)), USAGE, "as `select`, .*found .True"),
    "no encoding": (lambda: na.read_bitext("a", "b", encoding=None), USAGE, "an encoding .*found None"),
    "truth as units": (
        lambda: na.learn_attention(PAIRS, "en_fr_vectors", units=True),
        USAGE,
        "`units` as an integer of at least 1, found True",
    ),
    "truth as a chunk": (
        lambda: na.iter_chunks(PAIRS, chunk_size=True),
        USAGE,
        "of a chunk, 1 or more, found True",
    ),
    "matrices in memory": (lambda: na.links_from(PAIRS, matrices=[np.eye(2)]), DATA, "found none for pair 1"),
    "no line": (lambda: na.load().align(None, "b"), DATA, "as source, found None"),
    "unlike sides": (lambda: na.load().align("a", ["b"]), DATA, "found one of each"),
    "workers of a batch": (lambda: na.load().align_batch(PAIRS, workers=0), USAGE, "1 or more, found 0"),
    "a missing text": (lambda: list(na.read_bitext("no.en", "no.fr")), DATA, r"^no\.en: No such file"),
    "a folder as text": (lambda: list(na.read_bitext(".", ".")), DATA, "expected a file"),
    "a text by number": (lambda: na.read_bitext(3, 4), USAGE, "path of a file or folder, found 3"),
    "an encoding": (lambda: na.read_bitext("a", "b", encoding="klingon"), USAGE, "found klingon"),
    "a format": (
        lambda: list(na.read_bitext("a", format="docx")),
        USAGE,
        "one of the bitext formats .*, found 'docx'",
    ),
    "missing gold": (lambda: list(na.read_gold("nowhere")), DATA, "^nowhere: No such file"),
    "no links": (lambda: na.evaluate(3, []), USAGE, "expected links of each pair"),
    "wrong links": (
        lambda: na.evaluate([LINKS, [(0,)]], [LINKS] * 2),
        DATA,
        "pair 1: expected links as pairs",
    ),
    "a wrong line": (
        lambda: na.evaluate(["0-0", "0:1"], ["0-0"] * 2),
        DATA,
        "pair 1: expected links like 0-1",
    ),
    "wrong gold": (lambda: na.evaluate([LINKS], [7]), DATA, "pair 0: expected links as pairs .*found 7"),
    "fewer gold": (
        lambda: na.evaluate([LINKS] * 2, [LINKS]),
        DATA,
        "the 1 pair with gold links, found links for 2",
    ),
    "halves as links": (lambda: na.GoldAlignment({(0.5, 1)}, {(0.5, 1)}), DATA, "of integers"),
    "truth values as links": (lambda: na.Alignment({(True, False)}, 2, 2), DATA, "of integers"),
    "links by number": (lambda: na.evaluate({0: LINKS}, [LINKS]), USAGE, "links of each pair, .*found {0"),
    "a pair of words to cut": (
        lambda: list(na.iter_chunks([("a", "b"), (["a"], ["b"])])),
        DATA,
        "pair 1: expected lines of text for all pairs, found lists of words",
    ),
    "letters as links": (lambda: na.Alignment("0-0", 2, 2), DATA, "of integers, found '0-0'"),
    "a link outside": (lambda: na.Alignment({(5, 0)}, 2, 2), DATA, "link 5-0 is outside"),
    "a stray link": (lambda: na.GoldAlignment({(0, 0)}, set()), DATA, "not among the possible"),
    "NaN as weight": (lambda: na.AlignmentMatrix(np.full((1, 1), np.nan), ["a"], ["b"]), DATA, "contain NaN"),
    "text as weight": (lambda: na.AlignmentMatrix("x", ["a"], ["b"]), DATA, "real numbers, found 'x'"),
    "a report of nothing": (
        lambda: na.write_report("a.html", None),
        USAGE,
        "expected aligned pairs, found None",
    ),
    "a report of links": (lambda: na.write_report("a.html", [LINKS]), USAGE, "expected aligned pairs alone"),
    "a picture by ending": (
        lambda: na.load().align("a", "b").save("a.doc"),
        USAGE,
        "a.doc: expected a file name",
    ),
    "values": (
        lambda: na.load().align("a", "b").heatmap(values="x"),
        USAGE,
        "values of `values`: scores, .*found 'x'",
    ),
    "a folder by number": (lambda: na.load().save(3), USAGE, "path of a file or folder, found 3"),
    "missing vectors": (lambda: na.load_embeddings("no.vec"), DATA, r"^no\.vec: no such file"),
    "vectors of nothing": (
        lambda: na.Embeddings.from_gensim([]),
        USAGE,
        r"KeyedVectors, or a model .*found \[\]",
    ),
    "no pairs for a table": (lambda: na.link_table(3), USAGE, "expected aligned pairs, found 3"),
    "no file to read": (lambda: na.read_bitext(None), USAGE, "expected the path of a file .*found None"),
    "escapes by a word": (lambda: na.read_bitext("a", unescape="no"), USAGE, "True or False as `unescape`"),
    "a number in a lexicon": (
        lambda: na.lexicon([("a", "b", "")], word=3),
        USAGE,
        "a `word` as text, found 3",
    ),
    "a language of links": (
        lambda: na.convert("a.tmx", "b", format="tmx", to="talp", select="fr"),
        USAGE,
        "expected two columns, keys or languages as `select`",
    ),
    "words to read": (
        lambda: na.convert("a", "b", format="words", to="talp"),
        USAGE,
        "links to read pharaoh, .*xliff, found 'words'",
    ),
    "a title of a page": (lambda: na.show([], title=3), USAGE, "a `title` as text, found 3"),
    "a number about a text": (
        lambda: na.write_report("a.html", [], about=3),
        USAGE,
        "`about` the pairs, found 3",
    ),
    "a number as a figure": (lambda: na.write_report("a.html", [], corpus=[1]), USAGE, "`corpus`, found 1"),
    "a list of systems": (lambda: na.write_report("a.html", [], systems=[1]), USAGE, "by name, found"),
    "a score of a system": (lambda: na.write_report("a.html", [], systems={"a": 0.1}), USAGE, "found 0.1"),
    "a text as findings": (
        lambda: na.write_report("a.html", [], findings="x"),
        USAGE,
        "as nmtalign.check returns",
    ),
    "no aligner to fit": (lambda: na.fit_to("model", PAIRS), USAGE, "expected an aligner, as in fit_to"),
    "a pair to draw": (
        lambda: na.draw_heatmap(na.load().align("a", "b")),
        USAGE,
        "expected an AlignmentMatrix, such as pair.matrix",
    ),
    "arrays to draw": (lambda: na.draw_heatmap({"a": np.eye(2)}), USAGE, "expected an AlignmentMatrix"),
    "no pictures": (lambda: na.save_heatmaps(3, "a.pdf"), USAGE, "expected a list of pictures.* found 3"),
    "an aligner for a lexicon": (lambda: na.count_embeddings(na.load()), USAGE, "aligner.lexicon"),
    "a number of samples": (
        lambda: na.evaluate(["0-0"], ["0-0"], bootstrap=-1),
        USAGE,
        "bootstrap samples from 0 to 1,000,000, found -1",
    ),
    "a metric": (lambda: na.evaluate(["0-0"], ["0-0"]).score("f2"), USAGE, "precision, .*found 'f2'"),
    "scorers by number": (lambda: na.load().with_scorers(3), USAGE, "expected names of scorers, found 3"),
    "text as a number": (
        lambda: na.load().align_batch(PAIRS)["0"],
        USAGE,
        "expected the number of a pair, .*found '0'",
    ),
    "half a number": (lambda: na.load().align_batch(PAIRS).links(0.5), USAGE, "the number of a pair"),
    "links of nothing": (lambda: na.write_links("a.txt", None), USAGE, "expected links of each pair"),
    "links of words": (
        lambda: na.write_links("a.txt", [LINKS], format="giza"),
        USAGE,
        "this format contains words",
    ),
    "links from pairs": (
        lambda: na.links_from([("a", ["b"])], similarities=[np.eye(1)]),
        DATA,
        "pair 0: .*one of each",
    ),
    "similarities by number": (
        lambda: na.links_from([("a", "b")], similarities=3),
        USAGE,
        "an array for each pair, .*found 3",
    ),
    "similarities of other words": (
        lambda: na.links_from([("a b", "x")], similarities=[np.eye(2)]),
        DATA,
        "similarities: pair 0: expected 1 target by 2 source words",
    ),
    "similarities in words": (
        lambda: na.links_from([("a", "x")], similarities=[[["much"]]]),
        DATA,
        "expected similarities as real numbers, found",
    ),
    "fewer similarities": (
        lambda: na.links_from([("a", "x")] * 2, similarities=[np.eye(1)]),
        DATA,
        "found none for pair 1",
    ),
    "a batch without words": (lambda: links_alone()[0], USAGE, "links without words"),
    "letters for words": (lambda: words("a").vectors("cat"), USAGE, "expected a list of words, found 'cat'"),
    "vectors of no words": (lambda: words("a").vectors(None), USAGE, "expected a list of words, found None"),
    "no vectors to save": (
        lambda: na.save_embeddings(3, "a"),
        USAGE,
        "expected Embeddings, found 3",
    ),
    "no vectors to align": (
        lambda: na.vector_aligner(3, 4),
        USAGE,
        "expected Embeddings, a path, gensim's KeyedVectors, .* or \\(words, matrix\\); found 3",
    ),
    "no scorer": (lambda: na.Aligner(3), USAGE, "expected a scorer .*found 3"),
    "an extraction by name": (
        lambda: na.Aligner(na.load().scorer, extraction="mutual"),
        USAGE,
        "expected an extraction, .*found 'mutual'",
    ),
    "a probability of text": (
        lambda: na.load().align("a", "b").probability("0-0"),
        DATA,
        r"expected links as pairs .*found \['0-0'\]",
    ),
    "gold to draw": (lambda: na.load().align("a", "b").heatmap(gold=3), DATA, "links as pairs .*found 3"),
    "gold to draw as curves": (
        lambda: na.load().align("a", "b").heatmap(gold=3, curves=True),
        DATA,
        "links as pairs .*found 3",
    ),
    "links to draw": (lambda: na.load().align("a", "b").heatmap(links=3), DATA, "links as pairs .*found 3"),
    "colors": (lambda: na.load().align("a", "b").heatmap(cmap="x"), USAGE, "no color map 'x'"),
    "a short mask": (
        lambda: na.load().align_batch(PAIRS)[[True]],
        USAGE,
        "True or False for each of 15 .*found 1 ",
    ),
    "a truth value for a number": (
        lambda: na.load().align_batch(PAIRS)[True],
        USAGE,
        "the number of a pair, .*found True",
    ),
    "halves of numbers": (
        lambda: na.load().align_batch(PAIRS)[np.array([1.5])],
        USAGE,
        "the number of a pair, .*found 1.5",
    ),
    "a folder for links": (lambda: na.write_links(".", [LINKS]), USAGE, r"^\.: this is a folder"),
    "values in a list": (
        lambda: na.load().align("a", "b").heatmap(values=["forward"]),
        USAGE,
        r"values of `values`: scores, .*found \['forward'\]",
    ),
    "batches to compare": (
        lambda: na.load().align_batch(PAIRS).compare(3),
        USAGE,
        "expected gold links of each pair, or a path, found 3",
    ),
    "counts of a link outside": (
        lambda: na.lexicon([("a", "b", "0-0"), ("a", "b", {(3, 3)})]),
        DATA,
        "pair 1: link 3-3 is outside a pair of 1 source and 1 target words",
    ),
    "counts of a link before": (lambda: na.lexicon([("a", "b", {(-1, 0)})]), DATA, "pair 0: link -1-0"),
    "vectors of one language": (
        lambda: na.load(na.Embeddings.of(["a"], np.eye(1)).to_gensim()),
        USAGE,
        r"word vectors of two languages as \(source, target\), found KeyedVectors",
    ),
    "words without a vocabulary": (
        lambda: na.Embeddings(["a"], np.eye(1)),
        USAGE,
        r"Embeddings.of\(words, matrix\) makes one, found \['a'\]",
    ),
    "vectors in a list": (
        lambda: na.Embeddings(Vocabulary.from_words(["a"]), [[1.0]]),
        USAGE,
        r"expected an array of vectors, found \[\[1.0\]\]",
    ),
    "text to cut": (
        lambda: list(na.iter_chunks(3)),
        USAGE,
        r"expected sentence pairs \(source, target\), found 3",
    ),
    "no pair to cut": (lambda: list(na.iter_chunks(["ab"])), DATA, "pair 0: expected .*found 'ab'"),
    "chunks of nothing": (lambda: list(na.iter_chunks([], chunk_size=0)), USAGE, "chunk, 1 or more, found 0"),
    "text as a size of chunks": (
        lambda: na.iter_chunks([], chunk_size="5"),
        USAGE,
        "chunk, 1 or more, found '5'",
    ),
    "half a pair a chunk": (lambda: na.iter_chunks([], chunk_size=2.5), USAGE, "chunk, 1 or more, found 2.5"),
    "text as a first number": (
        lambda: na.iter_chunks([], first="x"),
        USAGE,
        "first pair, 0 or more, found 'x'",
    ),
    "text as a number of cells": (
        lambda: na.iter_chunks([], cells="x"),
        USAGE,
        "a number of cells, found 'x'",
    ),
    "a generator to cut again": (
        lambda: list(na.iter_chunks(used())),
        USAGE,
        "an iterator with nothing left",
    ),
    "columns of a table to cut": (
        lambda: na.iter_chunks((["a"], ["b", "c"])),
        DATA,
        "same number of source and target",
    ),
    "two paths as pairs": (lambda: na.train(("a.en", "a.fr")), DATA, "'a.en'; read_bitext reads files"),
    "lines of an open file": (lambda: na.train([("a\n", "b\n")]), DATA, "read_bitext reads files"),
    "a model by number": (
        lambda: na.learn_attention(PAIRS, "en_fr_vectors", model=3),
        USAGE,
        "an aligner, or the folder of a model, found 3",
    ),
    "nothing to fit to": (
        lambda: na.fit_to(na.load("en_fr_vectors", positions="hmm"), []),
        DATA,
        "words on both sides to fit to, found none",
    ),
    "nobody's words to fit to": (
        lambda: na.fit_to(na.load("en_fr_vectors", positions="hmm"), [("", "x")]),
        DATA,
        "words on both sides to fit to, found none",
    ),
    "one pair to count": (
        lambda: na.lexicon(na.load().align("a", "b")),
        USAGE,
        r"found one pair; a single pair goes in a list: \[pair\]",
    ),
    "one tuple to count": (
        lambda: na.lexicon(("a", "b", "0-0")),
        DATA,
        r"pair 0: expected \(source, target, links\), found 'a'",
    ),
    "a table to count": (
        lambda: na.phrases(na.load().align_batch(PAIRS).table()),
        USAGE,
        "expected a table with a column of links, .*pass a batch",
    ),
    "links without words to count": (
        lambda: na.lexicon(na.AlignedBatch([0, 1], [0], [0], [1.0], [0.0])),
        USAGE,
        "this batch has links without words",
    ),
    "annotations of fewer pairs": (
        lambda: na.project([("a", "b", "0-0")] * 2, ["O"], format="bio"),
        DATA,
        "annotations of each pair, found annotations of only 1",
    ),
    "annotations of more pairs": (
        lambda: na.project([("a", "b", "0-0")], ["O", "O"], format="bio"),
        DATA,
        "annotations of 1 pair, found more",
    ),
    "labels of other words": (
        lambda: na.project([("a", "b", "0-0")] * 2, ["O", "O O"], format="bio"),
        DATA,
        "pair 1: expected a label for each word, found 2 labels for 1 source words",
    ),
    "a format of annotations": (
        lambda: na.project([("a", "b", "0-0")], ["O"], format="iob"),
        USAGE,
        "spans, char-spans, conllu, found 'iob'; did you mean 'iob1'",
    ),
    "a span outside": (
        lambda: na.project([("a", "b", "0-0")], [[(0, 2, "X")]], format="spans"),
        DATA,
        r"pair 0: expected spans like \(0, 2, 'NAME'\) within 1 words, found \(0, 2, 'X'\)",
    ),
    "a word to find": (lambda: na.find([("a", "b", "0-0")], 5), USAGE, "expected words as text, .*found 5"),
    "a side to find": (lambda: na.find([("a", "b", "")], "a", side="left"), USAGE, "one of the sides"),
    "an index of no file": (lambda: na.find("nothing.db", "a"), DATA, "found no file"),
    "an encoder that links by number": (
        lambda: na.links_from(PAIRS, encoder=3),
        USAGE,
        "the name or folder of the encoder, found 3",
    ),
    "a translator by number": (
        lambda: na.links_from(PAIRS, translator=3),
        USAGE,
        "the name or folder of the translator, found 3",
    ),
    "batches of other pairs to compare": (
        lambda: na.load().align_batch(PAIRS).compare(na.load().align_batch(PAIRS[:2])),
        USAGE,
        "two batches of the same pairs, found 15 and 2",
    ),
    "gold as links": (
        lambda: na.write_links("a.txt", [na.GoldAlignment({(0, 0)}, {(0, 0)})]),
        DATA,
        "pair 0: expected links, found gold links; pass their `sure`",
    ),
    **{
        f"languages to check: {languages}": (
            lambda languages=languages: na.check(PAIRS, languages=languages),
            USAGE,
            "a source and a target language",
        )
        for languages in ("en", "enfr", ("en", "fr", "de"), ["en"], (1, 2), {"en": 1, "fr": 2})
    },
    "one language to learn attention": (
        lambda: na.learn_attention(PAIRS, "en_fr_vectors", languages=("en",)),
        USAGE,
        "a source and a target language",
    ),
    "counts of no links": (lambda: na.lexicon([(["a"], ["b"], None)]), DATA, "links as pairs .* None"),
    "counts of truth values": (
        lambda: na.lexicon([("a", "b", [(False, 0)])]),
        DATA,
        "links as pairs .*False",
    ),
    "counts of text": (lambda: na.lexicon([("a", "b", "0:0")]), DATA, "links like 0-1 .*'0:0'"),
    "presets in a list": (lambda: na.train(PAIRS, preset=["fast"]), USAGE, r"`preset`: .*found \['fast'\]"),
    "sides of two files": (
        lambda: na.read_bitext("a", "b", select=("1", "2")),
        USAGE,
        "`select` chooses the sides of one file, found two files",
    ),
    "a word for a function": (
        lambda: na.read_bitext("a", "b", on_error="skip"),
        USAGE,
        "a function that takes an error as `on_error`, found 'skip'",
    ),
    "no cluster": (lambda: list(na.align_on_cluster(3, na.load(), [])), USAGE, "client of dask, found 3"),
    "gold of nothing": (lambda: na.read_gold(None), USAGE, "path of a file or folder, found None"),
}


def used():
    pairs = iter(PAIRS)
    return list(pairs) and pairs


def links_alone():
    from nmtalign.links.alignments import concatenate_batches

    return concatenate_batches([na.load().align_batch(PAIRS)])


def refused(call, kind, told) -> None:
    with pytest.raises(kind, match=told) as caught:
        call()
    assert isinstance(caught.value, na.NmtalignError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_links_of_another_source_have_their_words(tmp_path):
    pairs = [("the black cat .", "le chat noir ."), ("a dog", "un chien")]
    linked = na.links_from(pairs, similarities=[np.eye(4), np.eye(2)])
    assert [pair.tokens for pair in linked] == [(tuple(s.split()), tuple(t.split())) for s, t in pairs]
    assert linked[1:][0].links == linked.links(1) == [(0, 0), (1, 1)]
    assert linked.table().target_word.tolist() == ["le", "chat", "noir", ".", "un", "chien"]
    na.write_report(tmp_path / "report.html", linked)


def test_columns_are_chosen_by_number(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\nc,d\n")
    assert list(na.read_bitext(tmp_path / "x.csv", select=(2, 1))) == [("b", "a"), ("d", "c")]


@pytest.mark.parametrize("case", TRAINED)
def test_a_bitext_that_is_none_is_refused(shipped, case):
    given, kind, told = TRAINED[case]
    for call in (na.train, shipped.align_batch):
        refused(lambda: call(given() if callable(given) else given), kind, told)  # noqa: B023


@pytest.mark.parametrize("case", OPTIONS)
def test_an_option_of_training_that_makes_no_sense_is_refused(case):
    options, kind, told = OPTIONS[case]
    refused(lambda: na.train(PAIRS, **options), kind, told)


@pytest.mark.parametrize("case", LOADED)
def test_what_cannot_be_opened_is_refused(case):
    path, settings, kind, told = LOADED[case]
    refused(lambda: na.load(path, **settings), kind, told)


VALUES_REFUSED = {  # a call with one value, and values that it refuses
    "used up": (lambda x: na.write_report("a.html", iter(x)), ([], ())),
    "numbers of a pair": (lambda x: pairs()[0].save("a.csv", **{x: 1}), ("gold", "title", "links")),
    "values of a matrix": (lambda x: pairs()[0].matrix.save("a.tsv", values=x), ("forward", "x")),
    "dpi": (lambda x: na.save_heatmaps([], "a.png", dpi=x), (0, True, "high", 10**7, None)),
    "panels": (lambda x: na.draw_heatmap(pairs()[0].matrix, columns=x), (0, -1, "a", True, 1.5)),
    "first words": (lambda x: words("a").first(x), (-1, 1.5, True, "a", None, float("nan"))),
    "covered words": (lambda x: words("a").coverage(x), ("house", 5, None, [1])),
    "words of vectors": (lambda x: words("a").vectors(x), ("house", [1], ["a", None], iter("a"))),
    "rows that differ": (lambda x: na.Embeddings.of(["a", "b"], x), ([[1, 2], [3]],)),
    "a limit": (lambda x: na.load_embeddings("a.vec", limit=x), (0, True, "5", 1.5)),
    "an encoding": (lambda x: na.load_embeddings("a.vec", encoding=x), (5, None, "klingon")),
    "bundled vectors": (na.load_embeddings, ("en_fr_vectors",)),
    "dimension": (lambda x: na.count_embeddings(na.load().lexicon, dimension=x), ("a", True, 0, None)),
    "seed": (lambda x: na.count_embeddings(na.load().lexicon, seed=x), ("a", True, -1, None)),
    "counted words": (lambda x: na.lexicon([(x, ["b"], [])]), (None, 5, [1], {"a"})),
    "counted pairs": (na.lexicon, (None, 5, "ab", {"a": 1}, [5], [("a", "b")])),
    "a minimum of links": (lambda x: na.lexicon([], min_links=x), (None, "a", True, float("nan"))),
    "a minimum probability": (lambda x: na.lexicon([], min_probability=x), (None, "a", True, 2)),
    "longest phrases": (lambda x: na.phrases([], longest=x), (None, 0, 1.5, "a", True)),
    "annotations": (lambda x: na.project([("a", "b", "")], x, format="bio"), (None, 5, "O", [5], [[1]])),
    "spans": (lambda x: na.project([("a", "b", "")], [x], format="spans"), (None, 5, [5], [(0, 1, 2)])),
    "split": (lambda x: na.project([("a", "b", "")], ["a"], split=x), (None, 5, "yes")),
    "tagged lines": (lambda x: na.project([("a", "b", "")], [x]), (None, 5, ["a"], "c")),
    "found words": (lambda x: na.find([("a", "b", "")], x), (None, 5, ["a"], "\udce9")),
    "a translation to find": (lambda x: na.find([("a", "b", "")], "a", translation=x), (5, ["b"])),
    "places to find": (lambda x: na.find([("a", "b", "")], "a", examples=x), (-1, 1.5, True, "a")),
    "length": (lambda x: na.Alignment([], x, 1), (None, "a", 1.5, True, -1)),
    "tokens": (lambda x: na.AlignmentMatrix(np.eye(2), x, ["a", "b"]), (None, 5, [1, 2], [None, "a"])),
    "place of vectors": (lambda x: na.save_embeddings(words("a"), x), (5, None, "")),
    "dimensions": (lambda x: na.Embeddings.of(["a"], np.zeros((1, x))), (0,)),
    "part": (lambda x: na.SamplePair(1, pairs()[0]).chosen_by(x), ("foo", 5)),
    "progress": (lambda x: na.learn_attention(PAIRS, "en_fr_vectors", progress=x), (5, "a", None)),
    "progress of alignment": (lambda x: na.load().align_batch(PAIRS, progress=x), (5, "no", None)),
    "progress of training": (lambda x: na.train(PAIRS, progress=x), (1, "no", None)),
    "words of links": (lambda x: na.write_links("a", [LINKS], format=x), ("giza", "words", "tsv", "foo")),
    "a path of links": (lambda x: na.write_links("a", x, format="tsv"), ("a.vec", "no")),
}


def pairs():
    return na.load().align_batch(PAIRS[:1])


@pytest.mark.parametrize("case", VALUES_REFUSED)
def test_a_value_that_makes_no_sense_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.vec").write_text("1 2\na 1 2\n")
    call, values = VALUES_REFUSED[case]
    for value in values:
        told = "expected|found|none|cannot|bundled|No such|no option|not apply"
        with pytest.raises(na.NmtalignError, match=told):
            call(value)
    assert [path.name for path in tmp_path.iterdir()] == ["a.vec"]


def test_a_closed_file_is_refused(tmp_path):
    with (tmp_path / "pairs").open("w+") as file:
        pass
    calls = (
        na.train,
        na.load().align_batch,
        lambda x: na.evaluate(x, [LINKS]),
        lambda x: na.evaluate([LINKS], x),
    )
    for call in calls:
        with pytest.raises(na.UsageError, match="found a closed file"):
            call(file)


def test_links_of_a_batch_are_written_with_their_words(tmp_path):
    batch = na.load().align_batch([("the black cat", "le chat noir"), ("a dog", "un chien")])
    na.write_links(tmp_path / "links.tsv", batch, format="tsv")
    assert (tmp_path / "links.tsv").read_text() == (
        "the black cat\tle chat noir\t0-0 1-2 2-1\na dog\tun chien\t0-0 1-1\n"
    )


@pytest.mark.parametrize("case", CALLS)
def test_a_call_that_makes_no_sense_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(*CALLS[case])
    assert not list(tmp_path.iterdir())


def test_a_model_is_saved_into_a_new_folder_or_over_an_older_model_alone(shipped, tmp_path):
    na.train(PAIRS, workers=1).save(tmp_path / "model")
    older = {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()}
    refused(lambda: shipped.save(tmp_path / "model"), USAGE, "contains a model; pass")
    assert {path.name: path.read_bytes() for path in (tmp_path / "model").iterdir()} == older
    (tmp_path / "file").write_text("mine")
    refused(lambda: shipped.save(tmp_path / "file", overwrite=True), USAGE, "is a file")
    na.train(PAIRS[:2] * 9, workers=1).save(tmp_path / "model", overwrite=True)
    assert na.load(tmp_path / "model").training["corpus"]["pairs"] == 18


def test_a_mask_or_numbers_choose_pairs_of_a_bitext(bitext):
    pd, every_third = pytest.importorskip("pandas"), [n % 3 == 1 for n in range(15)]
    for chosen in (every_third, np.array(every_third), pd.Series(every_third), np.arange(1, 15, 3)):
        assert [tuple(pair) for pair in bitext[chosen]] == PAIRS[1::3]
    assert [tuple(pair) for pair in bitext[[-1, 0]]] == [PAIRS[-1], PAIRS[0]]
    assert len(bitext[[]]) == 0


def test_a_mask_or_numbers_choose_pairs(batch):
    sure = batch.scores > np.median(batch.scores)
    assert [pair.links for pair in batch[sure]] == [batch.links(n) for n in np.flatnonzero(sure)]
    assert [pair.words for pair in batch[[1, 0]]] == [batch[1].words, batch[0].words]


def test_the_names_of_a_batch_mean_what_those_of_its_pairs_mean(shipped):
    batch = shipped.align_batch(PAIRS[:3])
    table = batch.table()
    for n, (pair, cells) in enumerate(zip(batch, batch.matrices("scores"), strict=True)):
        assert pair.links == batch.links(n)
        probabilities = batch.probability[batch.offsets[n] : batch.offsets[n + 1]].tolist()
        assert [pair.probability(link) for link in pair.links] == probabilities
        assert pair.score == batch.scores[n]
        assert (table.loc[table["pair"] == n, "pair_score"] == pair.score).all()
        np.testing.assert_array_equal(pair.scores, cells)


def test_a_probability_is_that_of_a_link_or_of_a_cell(shipped):
    pair = shipped.align("the black cat", "le chat noir")
    assert pair.probability((0, 0)) == pair.probabilities[na.Link(0, 0)]
    assert pair.probability((0, 1)) == pair.posterior[1, 0]
    with pytest.raises(na.DataError, match="link 9-9 is outside a pair of 3 source and 3 target words"):
        pair.probability((9, 9))


def test_gold_of_other_words_is_refused(shipped):
    batch = shipped.align_batch([("a house", "une maison")])
    with pytest.raises(
        na.DataError, match=r"pair 0: gold link 2-1 is outside .* do both count the same words"
    ):
        na.evaluate(batch, ["0-0 2-1"])
    with pytest.raises(na.DataError, match="pair 0: a link has a negative position"):
        na.evaluate([{(-1, 0)}], ["0-0"])
    golds = iter(["0-0"])
    assert na.evaluate(batch, golds).recall == 1
    with pytest.raises(na.UsageError, match="expected gold links, found an iterator with nothing left"):
        na.evaluate(batch, golds)


def test_a_report_is_a_page(shipped, tmp_path):
    with pytest.raises(na.UsageError, match=r"a report is an HTML page; pass a name like pairs.html"):
        na.write_report(tmp_path / "pairs.pdf", shipped.align_batch([("a", "b")]))


def test_a_bitext_can_be_sent_to_another_process(tmp_path):
    (tmp_path / "pairs").write_text("a ||| b\nc ||| d\n")
    assert list(pickle.loads(pickle.dumps(na.read_bitext(tmp_path / "pairs")))) == [("a", "b"), ("c", "d")]


def test_learned_attention_takes_its_own_options_only(shipped):
    pairs, vectors = [("the black cat", "le chat noir")] * 10, na.resolve_path("en_fr_vectors")
    for options in ({"units": "16"}, {"score": "cosine"}):
        with pytest.raises(na.UsageError, match="expected"):
            na.learn_attention(pairs, vectors, model=shipped, **options)
    with pytest.raises(na.DataError, match="nope: expected a folder with word vectors"):
        na.learn_attention(pairs, "nope", model=shipped)
    learned = na.learn_attention(pairs, vectors, model=shipped, units=8)
    assert repr(learned).startswith("LearnedAttention: bahdanau of 8 units")
    with pytest.raises(na.UsageError, match=r"a score such as learned.score"):
        na.load(vectors, score=learned)


def test_links_are_written_as_lines_that_are_read_again(batch, tmp_path):
    lines = [" ".join(f"{s}-{t}" for s, t in batch.links(n)) for n in range(15)]
    for name, given in (("batch.txt", batch), ("lines.txt.gz", lines)):
        na.write_links(tmp_path / name, given)
        assert na.evaluate(tmp_path / name, lines).f1 == 1.0
    assert (tmp_path / "batch.txt").read_text(encoding="utf-8").split("\n")[:-1] == lines
    na.write_links(tmp_path / "one.talp", [{(0, 1)}], format="talp")
    assert (tmp_path / "one.talp").read_text(encoding="utf-8") == "1-2\n"


def test_similarities_may_be_given_as_arrays():
    given = [np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.1], [0.7]])]
    batch = na.links_from([("the cat", "le chat"), ("no", "non pas")], similarities=given)
    assert [batch.links(n) for n in (0, 1)] == [[(0, 0), (1, 1)], [(0, 1)]]


def test_vectors_are_opened_by_their_files(tmp_path):
    vectors = words("the", "cat"), words("le", "chat")
    paths = [
        na.save_embeddings(side, tmp_path / name) or tmp_path / name
        for side, name in zip(vectors, "ab", strict=False)
    ]
    assert na.load(tuple(paths)).align("the cat", "le chat").links == [(0, 0), (1, 1)]
    scores = na.load(tuple(paths), score="dot").scorer.score
    assert repr(scores).isprintable()


def test_messages_name_parameters_and_the_command_line_its_options():
    from nmtalign.cli.messages import as_options

    with pytest.raises(na.UsageError, match=r"requires an encoder: pass `encoder=NAME`") as caught:
        na.load(device="cpu")
    options = {name: f"--{name}" for name in ("encoder", "force", "langs", "from")} | {"path": "path"}
    assert "pass --encoder NAME" in as_options(str(caught.value), options)
    said = "replace it with `overwrite=True`, or `languages`; read it as `format=word2vec`"
    assert as_options(said, options) == "replace it with --force, or --langs; read it as --from word2vec"
    unchanged = "found '`encoder`', `score` in `path`"
    assert as_options(unchanged, options) == unchanged
    converts = "`nmtalign vectors convert FILE FOLDER --to folder --strip-prefix c/en/`"
    assert as_options("use `strip_prefix='c/en/'`", options) == f"use {converts}"
    assert as_options("use `strip_prefix='c/en/'`", {"strip_prefix": "--strip-prefix"}) == (
        "use --strip-prefix c/en/"
    )


def test_what_holds_pairs_is_cut_as_it_is_read(bitext):
    """Two lists are the sides of a bitext, as for `train`, not two pairs."""
    sides = tuple(map(list, zip(*PAIRS, strict=True)))
    for given in (PAIRS, iter(PAIRS), bitext, sides):
        parts = list(na.iter_chunks(given, chunk_size=7))
        assert [(part.first, len(part.lines)) for part in parts] == [(0, 7), (7, 7), (14, 1)]
        assert [tuple(pair) for part in parts for pair in part.lines] == PAIRS


def test_gold_links_are_read_once_and_used_twice(shipped, tmp_path):
    (tmp_path / "gold").write_text("0-0 1p1\n")
    gold, batch = na.read_gold(tmp_path / "gold"), shipped.align_batch(PAIRS[:1])
    assert na.evaluate(batch, gold).sentences == na.evaluate(batch, gold).sentences


def test_gold_is_drawn_as_it_is_scored(shipped):
    pair = shipped.align("a house", "une maison")
    for curves in (False, True):
        pictures = [
            pair.heatmap(gold=gold, curves=curves)._repr_png_()[0]
            for gold in ({(0, 1)}, "0-1", na.GoldAlignment({(0, 1)}, {(0, 1)}))
        ]
        assert pictures[0] == pictures[1] == pictures[2]


def test_a_batch_is_compared_link_by_link(shipped):
    pairs = [("the cat", "le chat"), ("a dog", "un chien")]
    first, second = shipped.align_batch(pairs), na.load(threshold=0.9999).align_batch(pairs)
    table = first.compare(second)
    found = {(row.pair, row.source_position, row.target_position): row.found for row in table.itertuples()}
    links = [{(n, *link) for n in range(2) for link in batch.links(n)} for batch in (first, second)]
    names = {(True, True): "both", (True, False): "first", (False, True): "second"}
    assert found == {link: names[link in links[0], link in links[1]] for link in links[0] | links[1]}
    assert table.columns[0] == "pair"
    assert table["source_word"].tolist()[:2] == ["the", "cat"]


def test_compared_results_have_the_names_of_the_caller(shipped):
    other = na.load(threshold=0.9999)
    ours = shipped.align_batch(PAIRS), shipped.align(*PAIRS[0])
    theirs = other.align_batch(PAIRS), other.align(*PAIRS[0])
    for one, second in zip(ours, theirs, strict=True):
        default, named = one.compare(second), one.compare(second, names=("loose", "strict"))
        renamed = default["found"].replace({"first": "loose", "second": "strict"})
        assert named["found"].tolist() == renamed.tolist()
    assert list(shipped.compare(other, names=("a", "b")).columns) == ["setting of a", "setting of b"]
    figure = ours[1].matrix.compare(theirs[1].matrix, names=("loose", "strict"))
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"loose", "strict"} <= texts


NAMES_REFUSED = {
    "the same twice": ("a", "a"),
    "a text": "ab",
    "three": ("a", "b", "c"),
    "a column": ("a", "p"),
}


@pytest.mark.parametrize("names", NAMES_REFUSED.values(), ids=NAMES_REFUSED)
def test_names_of_compared_results_are_two_and_differ_from_columns(names):
    result = na.evaluate(["0-0"], ["0-0"], bootstrap=2)
    with pytest.raises(na.UsageError, match="names"):
        result.compare(result, names=names)


def test_an_expert_without_an_opinion_is_told():
    with pytest.warns(UserWarning, match="the expert links no words of the bitext"):
        na.train(PAIRS, expert=[""] * len(PAIRS))

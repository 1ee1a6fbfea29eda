"""Tokenizers: worked examples, offsets, and that fast and full patterns agree."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from itertools import chain
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtalign.errors import DataError, UsageError
from nmtalign.text import chunks, tokenization
from nmtalign.text.bitext import SentencePair
from nmtalign.text.tokenization import (
    UNICODE_FORMS,
    SentencePieceModel,
    TextSettings,
    _pattern,
    load_tokenizer,
    locate_tokens,
    mark_class,
    normal_form,
    words_containing,
)

SIMPLE = TextSettings("simple", lowercase=False, unicode="none")

EVERY_LANGUAGE = [
    ("L'eau de l’étang, d'abord.", "L' eau de l’ étang , d' abord ."),
    ("Qu'il s'en aille jusqu'à la mer !", "Qu' il s' en aille jusqu' à la mer !"),
    ("Lorsqu'elle QU'ON puisqu'un", "Lorsqu' elle QU' ON puisqu' un"),
    ("aujourd'hui Aujourd’hui quelqu'un presqu'île", "aujourd'hui Aujourd’hui quelqu'un presqu'île"),
    ("A-t-il vu ? Est-ce que va-t-elle", "A -t-il vu ? Est -ce que va -t-elle"),
    ("celui-ci cette fois-là dis-moi", "celui -ci cette fois -là dis -moi"),
    ("arc-en-ciel grand-père peut-être rendez-vous vis-à-vis", None),
    ("10 000,50 € et 1,000.50 $ 12/05/2020 à 3:45", None),
    ("10\u202f000\u202f000 F, 1\u00a0234,5%", "10\u202f000\u202f000 F , 1\u00a0234,5 %"),
    (
        "see http://a.b/c?d=1, www.x.org. Mail me@x.co.uk!",
        "see http://a.b/c?d=1 , www.x.org . Mail me@x.co.uk !",
    ),
    ("Wait... what?! -- no", "Wait ... what ?! -- no"),
    ("東京タワーはABC中文", "東 京 タ ワ ー は ABC 中 文"),
    ("안녕하세요 세계", "안녕하세요 세계"),
    ("हिन्दी में e\u0301te\u0301", "हिन्दी में e\u0301te\u0301"),
    ("the U.S. and Mr. Smith, e.g. now.", "the U.S. and Mr. Smith , e.g. now ."),
    ("«\u00a0oui\u00a0»", "« oui »"),
    ("a\u2028b\x85c\rd\x00e\tf", "a b c d e f"),
    ("boys' games 'quoted' rock 'n' roll", "boys ' games ' quoted ' rock ' n ' roll"),
    ("COVID-19 H2O 1er 2nd 5%", "COVID-19 H2O 1er 2nd 5 %"),
    ("En 1998 M. Dupont, 5\u202fm. Il, 10 ms. Il", "En 1998 M. Dupont , 5 m . Il , 10 ms . Il"),
    ("le 'plan C' est, 'groupe T' et", "le ' plan C ' est , ' groupe T ' et"),
    ("<Esc> a<b>c R&d; y", "< Esc > a < b > c R & d ; y"),
    ("l&apos; d &apos;t &#124; <unk> </s> a @-@ b &", None),
    ("AT&amp;T &", "AT &amp; T &"),
    ("Ha👨‍👩‍👧👨‍👩‍👧!", "Ha 👨‍👩‍👧 👨‍👩‍👧 !"),
    ("l'👩🏽‍⚕️ d'👍🏿👍.", "l ' 👩🏽‍⚕️ d ' 👍🏿 👍 ."),
    ("❤️‍🔥🏳️‍🌈🐦‍⬛🙂‍↔️", "❤️‍🔥 🏳️‍🌈 🐦‍⬛ 🙂‍↔️"),
    ("🇫🇷🇩🇪, 🇺", "🇫🇷 🇩🇪 , 🇺"),
    ("🏴󠁧󠁢󠁿 1️⃣2️⃣ #⃣*️⃣ 12", "🏴󠁧󠁢󠁿 1️⃣ 2️⃣ #⃣ *️⃣ 12"),
    ("0.3̅, x≠y !!́ а҈б 葛󠄀城 が", "0.3̅ , x ≠ y !!́ а҈б 葛󠄀 城 が"),
    ("©️ ☎️ ♥ 5€ a‍👨", "©️ ☎️ ♥ 5 € a‍ 👨"),
    ("tu viens ? -Tu viens.", "tu viens ? - Tu viens ."),
    ("mr. Smith st. Paul 5 m. Il", "mr. Smith st. Paul 5 m . Il"),
    ("", ""),
    ("   ", ""),
]
BY_LANGUAGE = [
    ("en", "I don't can't it's we'll John's", "I do n't ca n't it 's we 'll John 's"),
    ("en", "state-of-the-art add-on l'eau", "state-of-the-art add-on l'eau"),
    (None, "I don't know l'eau, c'est", "I do n't know l' eau , c' est"),
    ("fr", "peut-on donne-le-moi allez-vous-en vas-y", "peut -on donne -le -moi allez -vous -en vas -y"),
    ("fr", "McDonald's don't", "McDonald's don't"),
    (None, "hands-on add-on x-y", "hands-on add-on x-y"),
    ("it", "dell'arte un'amica l'acqua", "dell' arte un' amica l' acqua"),
    ("it", "dell' arte un po' di sott' acqua", "dell' arte un po' di sott' acqua"),
    ("it", "Lui -tu lo sai", "Lui - tu lo sai"),
    ("fr", "Paul -Tu viens, les années 80 -en France-", "Paul - Tu viens , les années 80 - en France -"),
    ("fr", "donne\u2011le, peut\u2010on", "donne \u2011le , peut \u2010on"),
    ("fr", "donne \u2011le , peut \u2010on", "donne \u2011le , peut \u2010on"),
    ("fr", "du point S', d'", "du point S ' , d '"),
    ("fr", "donne -le -moi ! allez -vous -en !", "donne -le -moi ! allez -vous -en !"),
    ("en", "don 't the 'tis", "don 't the ' tis"),
]


@pytest.mark.parametrize(("line", "expected"), EVERY_LANGUAGE)
@pytest.mark.parametrize("language", [None, "fr"])
def test_simple(line, expected, language):
    expected = line if expected is None else expected  # None: cut at spaces alone
    assert SIMPLE.words(line, language=language) == [word for word in expected.split(" ") if word]


@pytest.mark.parametrize(("language", "line", "expected"), BY_LANGUAGE)
def test_simple_by_language(language, line, expected):
    assert SIMPLE.words(line, language=language) == expected.split(" ")


@pytest.mark.parametrize("language", [None, "fr", "en", "it"])
@pytest.mark.parametrize(
    "line",
    ["une-jén là-t-il", "Ziegel-Tür", "ceux-là, mangé-je ?", "the café's café'd don'té", "l'été né-le-là."],
)
def test_decomposed_letters_are_cut_as_composed_ones(line, language):
    split = load_tokenizer("simple", language).split
    decomposed = [unicodedata.normalize("NFC", token) for token in split(unicodedata.normalize("NFD", line))]
    assert decomposed == split(line)


PIECES = ["l'", "d’", "aujourd'hui", "n't", "-t-il", "-ce", "'", "’", "-", "--", "...", "1,5", "10\u202f000"]
PIECES += [
    "a.b.",
    "Mr.",
    "www.a.b",
    "@",
    "中",
    "カ",
    "e\u0301",
    "\xad",
    "l'eau",
    "don't",
    "est-ce",
    "rendez-vous",
]
RAW = ["l'eau", "d’abord", "aujourd'hui", "don't", "a-t-il", "donne-le-moi", "M. Dupont", "U.S.", "1,5"]
RAW += ["we'll", "John's", "5%", "arc-en-ciel", "quelqu'un", "the", "boys'", "&amp;", "10 m", "中文", "C"]
RAW += ["'M", "m.", "'s", "n't", "ʼsd", "S"]
BETWEEN = [" ", ", ", ". ", "! ", "... ", "» ", "(", "'", '" ', " -- ", " - ", "", "\t", "-"]
raw_lines = st.lists(st.tuples(st.sampled_from(RAW), st.sampled_from(BETWEEN))).map(
    lambda words: "".join(word + after for word, after in words)
)
words_of_all_kinds = st.lists(
    st.one_of(
        st.sampled_from(PIECES),
        st.text(max_size=4),
        st.just(" "),
    )
).map("".join)


@given(words_of_all_kinds, st.sampled_from([None, "fr", "en", "it"]), st.sampled_from(["space", "simple"]))
def test_tokens_are_slices_in_order_and_lose_nothing(line, language, tokenizer):
    tokens = TextSettings(tokenizer).tokens(line, language=language)
    end = 0
    for token in tokens:
        assert line[token.start : token.end] == token.text != ""
        assert token.start >= end
        assert not re.search(r"[\w]", line[end : token.start])
        end = token.end
    assert not re.search(r"[\w]", line[end:])


@given(words_of_all_kinds, st.sampled_from([None, "fr", "en"]))
@example("ΟΔΟΣ İstanbul", None)
@example("\u0301 \u0301a", None)
def test_a_word_for_each_token(line, language):
    for form in UNICODE_FORMS:
        settings = TextSettings("simple", unicode=form)
        words = settings.words(line, language=language)
        assert len(words) == len(settings.tokens(line, language=language))
        assert all(words)


@given(words_of_all_kinds, st.sampled_from([None, "fr", "en"]))
@example("ne\u0301e 5\u20ac \u201cx\u201d", None)
@example("a\u20d0 l\u2019\u20acu", "fr")
def test_quicker_patterns_cut_as_the_full_one_does(line, language):
    found = load_tokenizer("simple", language).split(line)
    assert found in [_pattern(language, True, True, quoted, True).findall(line) for quoted in (False, True)]


@given(raw_lines, st.sampled_from([None, "fr", "en"]))
@example("l'eau'M. Dupont ", None)
@example("a-t-il-", "fr")
@example("donne-le-moi-ce", "fr")
@example("donne-le-moi-t-il", "fr")
@example("n't-on '", "en")
@example("(n't-on", "en")
@example("John's中", "en")
@example("中d'abord", "fr")
@example("a-t-ilS.", "fr")
@example("5\tm. Il", None)
@example("M’ʼsd d'abord", None)
@example(".ʼsd d'abord", None)
def test_text_that_is_cut_stays_as_it_is(line, language):
    tokens = load_tokenizer("simple", language).split(line)
    assert load_tokenizer("simple", language).split(" ".join(tokens)) == tokens


@pytest.mark.parametrize("language", [None, "fr", "en", "it"])
@pytest.mark.parametrize(
    "unit",
    ["中文", "カ", "a+b-", "1.a.", "中@", "-moi", "l'", "a\u0301_", "www.", "👨\u200d", "🇫", "1\ufe0f"],
)
def test_time_is_in_proportion_to_the_line(unit, language):
    split = load_tokenizer("simple", language).split
    split(2 * unit)
    start = time.process_time()
    assert "".join(split(20_000 * unit)) == 20_000 * unit
    assert time.process_time() - start < 1


def test_a_line_is_bounded_before_it_is_cut(monkeypatch):
    monkeypatch.setattr(tokenization, "MAX_TEXT_CHARS", 4)
    settings, message = TextSettings("simple"), "at most 4 characters, found 5: 'a b c' ...; break the line"
    assert settings.tokens_of_lines(["a b ", "c d "], 0) == (["a", "b", "c", "d"], [2, 2])
    for cut in (settings.words, settings.tokens, lambda line: settings.pieces_of_pair(("a", line))):
        with pytest.raises(DataError, match=message):
            cut("a b c")


def test_marks_are_those_of_unicode():
    inside = re.compile(f"[{mark_class()}]")
    for code in chain(range(0x1FA00), range(0xE0000, 0xE0200)):
        mark = code >= 0x300 and unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")
        assert bool(inside.match(chr(code))) == mark


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("pair", ["\u0301\u0316", "\uff9e\u0301"])
def test_only_piles_of_marks_stay_as_they_are(form, pair):
    start = time.process_time()
    for pile in (999, 1_000, 100_000):
        text = "é\ufb01\nno" + (pair * pile)[:pile] + "e\u0301"
        before, marks, after = "é\ufb01\nno", text[5:-2], text[-2:]
        normalized = [unicodedata.normalize(form, part) for part in (before, after)]
        kept = normalized[0] + marks + normalized[1]
        assert normal_form(form, text) == (unicodedata.normalize(form, text) if pile < 1_000 else kept)
    assert time.process_time() - start < 1


def test_look_up_forms():
    assert TextSettings().words("L’École  DU bois") == ["l'école", "du", "bois"]
    assert TextSettings(lowercase=False).words("L’E\u0301cole") == ["L'École"]
    assert TextSettings(unicode="strip-accents").words("Noël à l'œuvre") == ["noel", "a", "l'œuvre"]
    assert TextSettings(unicode="nfkc").words("ﬁn ２") == ["fin", "2"]
    assert TextSettings(unicode="none", lowercase=False).words("L’E\u0301") == ["L’E\u0301"]
    assert TextSettings().normalized(["A\nB", "C"]) == ["a\nb", "c"]


@given(
    st.text(alphabet="aΣσE\u0301\u00b4\u2000\u00c5 \u2019\t\u3042\u3099") | st.text(),
    st.sampled_from(["nfc", "none"]),
    st.booleans(),
)
@example("ΑΣ ΣΑ", "nfc", True)
def test_a_line_folded_whole_gives_the_words_of_its_tokens(line, form, lowercase):
    settings = TextSettings(lowercase=lowercase, unicode=form)
    tokens = [token.text for token in settings.tokens(line)]
    assert settings.words(line) == settings.normalized(tokens)


def test_space_cuts_at_ascii_spaces_alone():
    line = "a\u00a0b  c\u2028d\te\x85f\rg"
    assert TextSettings(lowercase=False).words(line) == ["a\u00a0b", "c\u2028d\te\x85f\rg"]


def test_moses():
    pytest.importorskip("sacremoses")
    settings = TextSettings("moses", lowercase=False)
    line = "L’homme  n'est-il pas là, Mr. Smith & co?\x07"
    tokens = settings.tokens(line, language="en")
    assert [token.text for token in tokens][-7:] == ["là", ",", "Mr.", "Smith", "&", "co", "?"]
    assert all(line[token.start : token.end] == token.text for token in tokens)


def test_icu():
    settings = TextSettings("icu", lowercase=False)
    for line, words in (
        ("今天天气很好。 It is 3.5 km!", ["今天", "天气", "很好", "。", "It", "is", "3.5", "km", "!"]),
        ("ไปไหนมา", ["ไป", "ไหน", "มา"]),
        ("𠀀 a\u200bb\t c\x00\ud800", ["𠀀", "a", "b", "c", "\ud800"]),  # outside of the BMP; half a letter
        (" \u3000", []),
    ):
        tokens = settings.tokens(line)
        assert [token.text for token in tokens] == words == settings.words(line)
        assert all(line[token.start : token.end] == token.text for token in tokens)


def test_icu_that_is_missing_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    tokenization._make_tokenizer.cache_clear()
    with pytest.raises(UsageError, match=r"nmtalign\[icu\].*single characters"):
        TextSettings("icu").words("今天")


def test_a_sentencepiece_model_that_has_changed_is_opened_again(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "tokens.model"
    splits = []
    for sentences in (["cat cat cat"], ["dog dog dog dog dog"]):
        with open(path, "wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=file,
                vocab_size=20,
                hard_vocab_limit=False,
                minloglevel=2,
            )
        splits.append(load_tokenizer(f"sentencepiece:{path}").split("cat"))
        assert load_tokenizer(f"sentencepiece:{path}") is load_tokenizer(f"sentencepiece:{path}")
    assert splits[0] != splits[1]
    with pytest.raises(DataError, match=r"absent.model: expected a sentencepiece model"):
        load_tokenizer(f"sentencepiece:{tmp_path}/absent.model")


def test_an_older_sentencepiece_says_where_pieces_are_too(tmp_path, monkeypatch):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = str(tmp_path / "tokens")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the café"] * 9),
        model_prefix=model,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=f"{model}.model")

    class Older:
        """The interface before version 0.2.1, as OpusTrainer needs it."""

        def __init__(self, model_file):
            assert model_file == f"{model}.model"

        def encode(self, line, out_type):
            assert out_type == "immutable_proto"
            encoded = processor.encode(line, return_type="offset_mapping")
            triples = [
                (piece, *span) for piece, span in zip(encoded["pieces"], encoded["offsets"], strict=True)
            ]
            return SimpleNamespace(pieces=[SimpleNamespace(piece=p, begin=b, end=e) for p, b, e in triples])

    answers = []
    for kind in (sentencepiece.SentencePieceProcessor, Older):
        monkeypatch.setattr(sentencepiece, "SentencePieceProcessor", kind)
        answers.append(SentencePieceModel(f"{model}.model").encode(" the  cafe\u0301 ½"))
    assert answers[0] == answers[1]
    assert answers[0][1][-1][1] == 13


def test_locate_refuses_tokens_of_another_text():
    with pytest.raises(DataError, match="'c' is not in the text after character 1"):
        locate_tokens(["a", "c"], "ab")


@given(st.text(alphabet="ab'’ .-é"), st.sampled_from(["space", "simple"]))
def test_tokens_begin_in_words_between_spaces(line, tokenizer):
    numbers = words_containing([token.start for token in TextSettings(tokenizer).tokens(line)], line)
    whitespace = [word for word in line.split(" ") if word]
    assert sorted(set(numbers)) == list(range(len(whitespace)))
    assert numbers == sorted(numbers)
    for number, token in zip(numbers, TextSettings(tokenizer).tokens(line), strict=True):
        assert token.text in whitespace[number]


def test_settings_survive_a_file():
    settings = TextSettings("simple", lowercase=False, unicode="nfkc")
    assert TextSettings.from_dict(settings.as_dict()) == settings
    assert str(settings) == "simple+cased+nfkc"
    with pytest.raises(UsageError, match="space, simple, moses"):
        TextSettings("words")
    with pytest.raises(UsageError, match="nfc, nfkc"):
        TextSettings.from_dict({"unicode": "nfd"})
    with pytest.raises(UsageError, match="tokenizer"):
        load_tokenizer("words")
    with pytest.raises(DataError, match="expected tokenizer"):
        TextSettings.from_dict({"tokeniser": "space"})


@pytest.mark.parametrize("most", [None, 9])
def test_pairs_of_too_many_characters_are_not_cut_at_all(monkeypatch, most):
    monkeypatch.setattr(chunks, "MAX_TEXT_CHARS", 4)
    monkeypatch.setattr(TextSettings, "pieces_of_pair", lambda *_: pytest.fail("nothing is cut"))
    bound, pairs = chunks.LengthLimit(most, ["a", "b"]), [SentencePair("a", "b" * 6_000)]
    if most:
        assert list(bound.pairs(pairs, SIMPLE)) == [SentencePair("", "")]
        return
    with pytest.raises(DataError, match=r"a and b, pair 1: expected at most 4 characters a side, found"):
        list(bound.pairs(pairs, SIMPLE))

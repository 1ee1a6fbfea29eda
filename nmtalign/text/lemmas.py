"""Lemmas of words, such as *house* of *houses*, by the package simplemma (extra ``[lemmas]``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from nmtalign.display import short_repr
from nmtalign.errors import UsageError, require_extra

MAX_WORD_CHARS = 50  # longer words are their own lemmas
MAX_REMEMBERED_LEMMAS = 1 << 16  # per language, so that memory stays bounded in a long text
_OTHER_CODES = {"no": "nb", "hr": "hbs", "sr": "hbs", "bs": "hbs", "sh": "hbs", "me": "hbs"}
_NEED = "lemmas need the package simplemma"


def lemma_language(language: str | None) -> str | None:
    """Return the code by which simplemma has the lemmas of a language, or None if it has none.

    UsageError if the package is not installed.

    >>> lemma_language("en-GB"), lemma_language("hr"), lemma_language("zh")
    ('en', 'hbs', None)
    """
    if language is None:
        return None
    with require_extra("lemmas", _NEED):
        import simplemma  # noqa: F401  # a module inside it may still be imported when the package is missing
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES
    primary = language.replace("_", "-").partition("-")[0].lower()
    code = _OTHER_CODES.get(primary, primary)
    return code if code in SUPPORTED_LANGUAGES else None


@cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return a function that gives the lemma of a word; `language` is one of :func:`lemma_language`.

    >>> list(map(lemmatizer("en"), ["houses", "cats", "xyzzy", ""]))
    ['house', 'cat', 'xyzzy', '']
    """
    with require_extra("lemmas", _NEED):
        from simplemma import lemmatize
    if lemma_language(language) != language:
        raise UsageError(f"there are no lemmas for the language {short_repr(language)}")

    @lru_cache(MAX_REMEMBERED_LEMMAS)
    def lemma_of(word: str) -> str:
        if not word or len(word) > MAX_WORD_CHARS:
            return word
        lemma = lemmatize(word, lang=language)
        return (lemma.lower() if word.islower() else lemma) or word

    return lemma_of

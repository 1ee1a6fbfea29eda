"""Codes and names of languages, as files use them: ``en``, ``eng``, ``en_US``, ``EN-gb``, ``English``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from nmtalign.display import short_repr
from nmtalign.errors import UsageError, require_extra

# One language after another: its code of ISO 639-1; other codes (of ISO 639-2 and 639-3, and of countries
# that are often written instead); its names in English and, if many files have it, in other languages.
_LANGUAGES = """
aa aar Afar, ab abk Abkhazian, ae ave Avestan, af afr Afrikaans, ak aka Akan, am amh Amharic,
an arg Aragonese, ar ara/arb Arabic/العربية, as asm Assamese, av ava Avaric, ay aym Aymara,
az aze/azj Azerbaijani, ba bak Bashkir, be bel Belarusian, bg bul Bulgarian/български,
bi bis Bislama, bm bam Bambara, bn ben Bengali, bo bod/tib Tibetan, br bre Breton, bs bos Bosnian,
ca cat Catalan/català, ce che Chechen, ch cha Chamorro, co cos Corsican, cr cre Cree,
cs ces/cze/cz Czech/čeština, cu chu Church Slavic, cv chv Chuvash, cy cym/wel Welsh/Cymraeg,
da dan/dk Danish/dansk, de deu/ger German/Deutsch/allemand/alemán/alemão/tedesco, dv div Divehi,
dz dzo Dzongkha, ee ewe Ewe, el ell/gre/gr Greek/Ελληνικά,
en eng English/anglais/englisch/inglés/inglês/inglese, eo epo Esperanto,
es spa Spanish/Castilian/español/espagnol/spanisch/spagnolo/espanhol, et est/ekk Estonian/eesti,
eu eus/baq Basque/euskara, fa fas/per/pes Persian/Farsi/فارسی, ff ful Fula, fi fin Finnish/suomi,
fj fij Fijian, fo fao Faroese, fr fra/fre French/français/französisch/francés/francês/francese,
fy fry Frisian, ga gle Irish/Gaeilge, gd gla Scottish Gaelic, gl glg Galician/galego, gn grn Guarani,
gu guj Gujarati, gv glv Manx, ha hau Hausa, he heb Hebrew/עברית, hi hin Hindi/हिन्दी,
ho hmo Hiri Motu, hr hrv Croatian/hrvatski, ht hat Haitian Creole, hu hun Hungarian/magyar,
hy hye/arm Armenian, hz her Herero, ia ina Interlingua, id ind Indonesian/Bahasa Indonesia,
ie ile Interlingue, ig ibo Igbo, ii iii Sichuan Yi, ik ipk Inupiaq, io ido Ido,
is isl/ice Icelandic/íslenska, it ita Italian/italiano/italien/italienisch, iu iku Inuktitut,
ja jpn/jp Japanese/日本語, jv jav Javanese, ka kat/geo Georgian, kg kon Kongo, ki kik Kikuyu,
kj kua Kuanyama, kk kaz Kazakh, kl kal Kalaallisut, km khm Khmer, kn kan Kannada, ko kor Korean/한국어,
kr kau Kanuri, ks kas Kashmiri, ku kur/kmr Kurdish, kv kom Komi, kw cor Cornish, ky kir Kyrgyz,
la lat Latin, lb ltz Luxembourgish, lg lug Luganda, li lim Limburgish, ln lin Lingala, lo lao Lao,
lt lit Lithuanian/lietuvių, lu lub Luba-Katanga, lv lav/lvs Latvian/latviešu, mg mlg/plt Malagasy,
mh mah Marshallese, mi mri/mao Maori, mk mkd/mac Macedonian, ml mal Malayalam, mn mon/khk Mongolian,
mr mar Marathi, ms msa/may/zsm Malay/Bahasa Melayu, mt mlt Maltese, my mya/bur Burmese, na nau Nauru,
nb nob Bokmål, nd nde North Ndebele, ne nep/npi Nepali, ng ndo Ndonga, nl nld/dut Dutch/Nederlands,
nn nno Nynorsk, no nor Norwegian/norsk, nr nbl South Ndebele, nv nav Navajo, ny nya Nyanja/Chichewa,
oc oci Occitan, oj oji Ojibwa, om orm/gaz Oromo, or ori/ory Odia/Oriya, os oss Ossetic,
pa pan Punjabi, pi pli Pali, pl pol Polish/polski, ps pus/pbt Pashto, pt por Portuguese/português,
qu que Quechua, rm roh Romansh, rn run Kirundi, ro ron/rum Romanian/română, ru rus Russian/русский,
rw kin Kinyarwanda, sa san Sanskrit, sc srd Sardinian, sd snd Sindhi, se sme Northern Sami,
sg sag Sango, si sin Sinhala, sk slk/slo Slovak/slovenčina, sl slv Slovenian/slovenščina,
sm smo Samoan, sn sna Shona, so som Somali, sq sqi/alb/als Albanian/shqip, sr srp Serbian/српски,
ss ssw Swati, st sot Southern Sotho, su sun Sundanese, sv swe Swedish/svenska, sw swa/swh Swahili,
ta tam Tamil, te tel Telugu, tg tgk Tajik, th tha Thai/ไทย, ti tir Tigrinya, tk tuk Turkmen,
tl tgl/fil Tagalog/Filipino, tn tsn Tswana, to ton Tongan, tr tur Turkish/Türkçe, ts tso Tsonga,
tt tat Tatar, tw twi Twi, ty tah Tahitian, ug uig Uyghur, uk ukr/ua Ukrainian/українська,
ur urd Urdu, uz uzb/uzn Uzbek, ve ven Venda, vi vie/vn Vietnamese/Tiếng Việt, vo vol Volapük,
wa wln Walloon, wo wol Wolof, xh xho Xhosa, yi yid/ydd Yiddish, yo yor Yoruba, za zha Zhuang,
zh zho/chi/cmn/cn Chinese/Mandarin/中文, zu zul Zulu
"""
# A script, a region, or a variant, after the code of a language: zh-Hans-CN, es-419, de-1996
_SUBTAG = re.compile(r"[a-z]{4}|[a-z]{2}|\d{3}|\d[a-z0-9]{3}|[a-z0-9]{5,8}")


class _Codes(NamedTuple):
    """The two-letter code of each code, and of each name in lower case; the English name of each code."""

    of_codes: dict[str, str]
    of_names: dict[str, str]
    names: dict[str, str]


@cache
def _codes() -> _Codes:
    codes = _Codes({}, {}, {})
    for entry in re.split(r",\s+", _LANGUAGES.strip()):
        code, other_codes, names = entry.split(" ", 2)
        codes.of_codes[code] = code
        for other in other_codes.split("/"):
            codes.of_codes.setdefault(other, code)
        for name in names.split("/"):
            codes.of_names[name.casefold()] = code
        codes.names[code] = names.partition("/")[0]
    return codes


def language_tag(text: str) -> str:
    """Return a language in one form: lower case, hyphens, a code of two letters if it has one.

    >>> language_tag("EN_us"), language_tag("eng-US"), language_tag("French"), language_tag("tlh")
    ('en-us', 'en-us', 'fr', 'tlh')
    """
    of_codes, of_names, _ = _codes()
    text = unicodedata.normalize("NFC", text).strip().casefold()
    if text in of_names:
        return of_names[text]
    code, *subtags = re.split("[-_]", text)
    return "-".join([of_codes.get(code, code), *subtags])


def language_name(text: str) -> str:
    """Return the English name of a language, with what its code says besides; an unknown code unchanged.

    >>> language_name("fr"), language_name("eng_US"), language_name("tlh")
    ('French', 'English (US)', 'tlh')
    """
    code, *subtags = language_tag(text).split("-")
    name = _codes().names.get(code)
    if name is None:
        return text
    told = [tag.upper() if len(tag) == 2 else tag.capitalize() for tag in subtags]
    return f"{name} ({', '.join(told)})" if told else name


def known_language(text: str) -> str | None:
    """Return the form of :func:`language_tag` of the code or name of a language; None for other text.

    >>> [known_language(name) for name in ("pt_BR", "Deutsch", "eng_Latn", "id_row")]
    ['pt-br', 'de', 'en-latn', None]
    """
    of_codes = _codes().of_codes
    tag = language_tag(text)
    code, *subtags = tag.split("-")
    is_known = code in of_codes and all(map(_SUBTAG.fullmatch, subtags))
    return tag if is_known else None


def check_language_codes(languages: tuple[str | None, str | None]) -> None:
    """Raise UsageError if one of the languages is a name, such as English: tokenizers only know codes."""
    of_names = _codes().of_names
    for language in languages:
        code = of_names.get("" if language is None else language.strip().casefold())
        if code is not None:
            problem = f"`languages`: expected codes such as en, found the name {short_repr(language)}"
            raise UsageError(f"{problem}; write {code}")


def is_variant(tag: str, wanted: str) -> bool:
    """Return whether one of two forms of :func:`language_tag` is a variant of the other.

    >>> is_variant("en-gb", "en"), is_variant("en", "en-gb"), is_variant("en-gb", "en-us")
    (True, True, False)
    """
    return tag == wanted or tag.startswith(f"{wanted}-") or wanted.startswith(f"{tag}-")


# --- lemmas --------------------------------------------------------------------------------------


MAX_LEMMATIZED_CHARS = 50  # longer words are their own lemmas
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
        if not word or len(word) > MAX_LEMMATIZED_CHARS:
            return word
        lemma = lemmatize(word, lang=language)
        return (lemma.lower() if word.islower() else lemma) or word

    return lemma_of

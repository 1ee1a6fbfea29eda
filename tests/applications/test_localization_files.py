"""Inline elements as localization tools write them: none is lost or doubled, and the target is kept."""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

import nmtalign as na

NAMESPACES = "xmlns:xliff='x' xmlns:sdl='s' xmlns:mq='m'"
CODES = ("ph", "bpt", "ept", "it", "ut")  # XLIFF and TMX: what they contain is code


class Sample(NamedTuple):
    """The inside of a source element of a file, and the translation that gets its elements."""

    format: str
    tagged: str
    target: str
    links: str
    expected: str


SAMPLES = {
    # SDLXLIFF: formatting in g, placeholders in x, segments and comments in mrk
    "sdlxliff": Sample(
        "xliff",
        '<mrk mtype="seg" mid="1">Press the <g id="5">red button</g>, then <x id="6"/>wait.</mrk>',
        "Appuyez sur le bouton rouge, puis attendez.",
        "0-0 0-1 1-2 2-4 3-3 4-5 5-6",
        '<mrk mtype="seg" mid="1">Appuyez sur le <g id="5">bouton rouge</g>, puis <x id="6"/>attendez.</mrk>',
    ),
    "sdlxliff comment": Sample(
        "xliff",
        'Save the <mrk mtype="x-sdl-comment" sdl:cid="a1-b2">file</mrk> <g id="7"><g id="8">now</g></g>.',
        "Enregistrez maintenant le fichier.",
        "0-0 1-2 2-3 3-1",
        'Enregistrez <g id="7"><g id="8">maintenant</g></g> le'
        ' <mrk mtype="x-sdl-comment" sdl:cid="a1-b2">fichier</mrk>.',
    ),
    # XLIFF 1.2: paired codes as elements with and without content
    "xliff 1.2 bx ex": Sample(
        "xliff",
        'Open <bx id="1" rid="1" ctype="bold"/>Settings<ex id="2" rid="1"/> first.',
        "Ouvrez d'abord Paramètres.",
        "0-0 1-2 2-1",
        'Ouvrez d\'abord <bx id="1" rid="1" ctype="bold"/>Paramètres<ex id="2" rid="1"/>.',
    ),
    "xliff 1.2 overlapping bx ex": Sample(
        "xliff",
        'A <bx id="1"/>very <bx id="2"/>old<ex id="1"/> tree<ex id="2"/> fell.',
        "Un très vieil arbre est tombé.",
        "0-0 1-1 2-2 3-3 4-4 4-5",
        'Un <bx id="1"/>très <bx id="2"/>vieil<ex id="1"/> arbre<ex id="2"/> est tombé.',
    ),
    "xliff 1.2 bpt ept": Sample(
        "xliff",
        '<bpt id="1" ctype="bold">&lt;b&gt;</bpt>Note:<ept id="1">&lt;/b&gt;</ept> keep'
        ' <ph id="2">%d</ph> copies',
        "Remarque : gardez copies",
        "0-0 0-1 1-2 2-3",
        '<bpt id="1" ctype="bold">&lt;b&gt;</bpt>Remarque :<ept id="1">&lt;/b&gt;</ept> gardez'
        ' <ph id="2">%d</ph>copies',
    ),
    "xliff 1.2 it and lonely ends": Sample(
        "xliff",
        '<it id="1" pos="close">&lt;/i&gt;</it>The end<ex id="9"/> of <bx id="10"/>part one',
        "La fin de la première partie",
        "0-0 1-1 2-2 3-5 4-3 4-4",
        '<it id="1" pos="close">&lt;/i&gt;</it>La fin<ex id="9"/> de la première <bx id="10"/>partie',
    ),
    # XLIFF 2
    "xliff 2 pc ph": Sample(
        "xliff",
        'Hello <ph id="1" equiv="{name}" disp="{name}"/>, <pc id="2" dataRefStart="d1">welcome back</pc>!',
        "Bonjour, bon retour !",
        "0-0 2-1 2-2 3-2 3-3",
        'Bonjour<ph id="1" equiv="{name}" disp="{name}"/>, <pc id="2" dataRefStart="d1">bon retour</pc> !',
    ),
    "xliff 2 sc ec across pc": Sample(
        "xliff",
        '<pc id="1">Blue <sc id="2" type="fmt"/>sky</pc> and sea<ec startRef="2"/> here',
        "Ciel bleu et mer ici",
        "0-1 1-0 2-2 3-3 4-4",
        '<sc id="2" type="fmt"/><pc id="1">Ciel bleu</pc> et mer<ec startRef="2"/> ici',
    ),
    "xliff 2 mrk and sm em": Sample(
        "xliff",
        'The <mrk id="m1" type="term" ref="#t1">hard drive</mrk> is'
        ' <sm id="m2" type="comment"/>full<em startRef="m2"/>',
        "Le disque dur est plein",
        "0-0 1-2 2-1 3-3 4-4",
        'Le <mrk id="m1" type="term" ref="#t1">disque dur</mrk> est'
        ' <sm id="m2" type="comment"/>plein<em startRef="m2"/>',
    ),
    # memoQ
    "mqxliff": Sample(
        "xliff",
        '<bpt id="1" rid="1">&lt;hlnk id="1"&gt;</bpt>Read more<ept id="2" rid="1">&lt;/hlnk&gt;</ept>'
        ' <ph id="3">&lt;br/&gt;</ph>about us',
        "En savoir plus sur nous",
        "0-0 0-1 1-2 2-3 3-4",
        '<bpt id="1" rid="1">&lt;hlnk id="1"&gt;</bpt>En savoir plus<ept id="2" rid="1">&lt;/hlnk&gt;</ept>'
        ' <ph id="3">&lt;br/&gt;</ph>sur nous',
    ),
    # OmegaT and other tools that number tags
    "omegat": Sample(
        "xml",
        "<g0>Click <b1>here</b1></g0> to <x2/>continue",
        "Cliquez ici pour continuer",
        "0-0 1-1 2-2 3-3",
        "<g0>Cliquez <b1>ici</b1></g0> pour <x2/>continuer",
    ),
    # TMX, level 2
    "tmx": Sample(
        "xliff",
        'The <bpt i="1" x="1">{\\b </bpt>big<ept i="1">}</ept> <hi type="term">dog</hi>'
        " <ph x='2'>&lt;img alt=\"<sub>a dog</sub>\"&gt;</ph>barks<ut>{\\cf2}</ut>",
        "Le gros chien aboie",
        "0-0 1-1 2-2 3-3",
        'Le <bpt i="1" x="1">{\\b </bpt>gros<ept i="1">}</ept> <hi type="term">chien</hi>'
        " <ph x='2'>&lt;img alt=\"<sub>a dog</sub>\"&gt;</ph>aboie<ut>{\\cf2}</ut>",
    ),
    "tmx overlapping": Sample(
        "xliff",
        'very <bpt i="1">&lt;b&gt;</bpt>good <bpt i="2">&lt;i&gt;</bpt>red<ept i="1">&lt;/b&gt;</ept>'
        ' wine<ept i="2">&lt;/i&gt;</ept> here',
        "ici très bon vin rouge",
        "0-1 1-2 2-4 3-3 4-0",
        'ici très <bpt i="1">&lt;b&gt;</bpt>bon <bpt i="2">&lt;i&gt;</bpt>vin rouge'
        '<ept i="1">&lt;/b&gt;</ept><ept i="2">&lt;/i&gt;</ept>',
    ),
    # Android
    "android": Sample(
        "xml",
        'Share <xliff:g id="count" example="3">%1$d</xliff:g> photos with <b>%2$s</b>?',
        "Partager %1$d photos avec %2$s ?",
        "0-0 1-1 2-2 3-3 4-4",
        'Partager <xliff:g id="count" example="3">%1$d</xliff:g> photos avec <b>%2$s</b> ?',
    ),
    # Qt: the text is HTML, escaped once in the file; accelerators are entities
    "qt": Sample(
        "html",
        "<b>%1</b> of <i>%n file(s)</i> <br>saved &amp;now",
        "%n fichier(s) : %1 enregistré(s)",
        "0-3 1-2 2-0 3-1 4-4",
        "<i>%n fichier(s)</i> : <b>%1</b> <br>enregistré(s)",
    ),
    # gettext, ICU: placeholders are words, or parts of words
    "gettext": Sample(
        "html",
        'Logged in as <a href="/u?id=%(id)s">%(name)s</a>, <em>%s</em> ago',
        "Connecté en tant que %(name)s, il y a %s",
        "0-0 1-1 2-2 2-3 3-4 4-8 5-5 5-6 5-7",
        'Connecté en tant que <a href="/u?id=%(id)s">%(name)s</a>, il y a <em>%s</em>',
    ),
    "icu": Sample(
        "xml",
        "{count, plural, one {<b>#</b> file} other {<b>#</b> files}}",
        "{count, plural, one {# fichier} other {# fichiers}}",
        "0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7",
        "{count, plural, one {<b>#</b> fichier} other {<b>#</b> fichiers}}",
    ),
    "escapes": Sample(
        "xliff",
        'R&amp;D: <g id="1">1 &lt; 2</g>',
        "R&amp;D : 1 &lt; 2",
        "0-0 1-2 2-3 3-4",
        'R&amp;D : <g id="1">1 &lt; 2</g>',
    ),
}


def source_text(sample: Sample) -> str:
    """Return what an element contains without its markup and its codes."""
    text = sample.tagged
    for code in CODES:
        text = re.sub(rf"<{code}\b[^>]*[^/]>.*?</{code}>|<{code}>.*?</{code}>", "", text)
    return re.sub(r"<[^>]*>", "", text)


def tags(text: str) -> list[str]:
    return sorted(re.findall(r"<[^>]*>", text))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore:.*no linked word")
def test_elements_of_tools_are_projected(name):
    sample = SAMPLES[name]
    pair = (source_text(sample), sample.target, sample.links)
    [projected] = na.project([pair], [sample.tagged], format=sample.format)
    assert projected == sample.expected
    assert tags(projected) == tags(sample.tagged)
    assert source_text(sample._replace(tagged=projected)) == sample.target
    if sample.format != "html":
        ElementTree.fromstring(f"<line {NAMESPACES}>{projected}</line>")  # raises an error if not well-formed


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore:.*no linked word")
def test_elements_survive_without_links_and_with_all(name, split):
    sample = SAMPLES[name]
    source = source_text(sample)
    sizes = [len([word for word in line.split(" ") if word]) for line in (source, sample.target)]
    every = [(s, t) for s in range(sizes[0]) for t in range(sizes[1])]
    reverse = [(n, sizes[1] - 1 - n) for n in range(min(sizes))]
    for links in ([], every, reverse):
        [projected] = na.project(
            [(source, sample.target, links)], [sample.tagged], format=sample.format, split=split
        )
        assert source_text(sample._replace(tagged=projected)) == sample.target
        assert set(tags(projected)) == set(tags(sample.tagged))
        if not split:
            assert tags(projected) == tags(sample.tagged)
        if sample.format != "html":
            ElementTree.fromstring(f"<line {NAMESPACES}>{projected}</line>")

"""Settings are declared twice: in public signatures, and in the dataclasses that the command line reads."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields

import pytest

import nmtalign as na
from nmtalign.declarations import Settings, declaration_of, setting
from nmtalign.errors import UsageError
from nmtalign.results import Viewable, ViewableBatch
from nmtalign.settings import (
    AttentionSettings,
    EncoderSettings,
    GivenVectorsSettings,
    LinkSettings,
    PictureSettings,
    SourceSettings,
    TrainingSettings,
    VectorFileSettings,
    WordSettings,
)

# A public function, and the groups of settings that its parameters list once more.
SIGNATURES = [
    (na.load, [WordSettings, LinkSettings, GivenVectorsSettings, EncoderSettings]),
    (na.vector_aligner, [WordSettings, LinkSettings]),
    (na.links_from, [SourceSettings, LinkSettings, EncoderSettings]),
    (na.learn_attention, [AttentionSettings, WordSettings, VectorFileSettings]),
    (na.train, [TrainingSettings, WordSettings, EncoderSettings]),
    (Viewable.save, [PictureSettings]),
]
# Public functions that have some of the settings of pictures, perhaps with defaults of their own.
PICTURES = [na.heatmap, na.draw_heatmap, Viewable.heatmap, Viewable.svg, ViewableBatch.heatmap]


@pytest.mark.parametrize(("function", "groups"), SIGNATURES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_signature_lists_the_settings_of_its_groups(function, groups):
    parameters = inspect.signature(function).parameters
    for group in groups:
        declared = {f.name: (f.type, f.default) for f in fields(group) if declaration_of(f)}
        listed = {name: (parameters[name].annotation, parameters[name].default) for name in declared}
        assert listed == declared


@pytest.mark.parametrize("function", PICTURES, ids=lambda function: function.__qualname__)
def test_pictures_take_settings_of_their_declared_types(function):
    parameters = inspect.signature(function).parameters
    declared = {field.name: str(field.type) for field in fields(PictureSettings)}
    own = parameters.keys() & declared.keys()
    assert {"links", "values"} & own
    for name in own:
        assert parameters[name].annotation in (declared[name], declared[name].removesuffix(" | None"), "int")


@dataclass(frozen=True)
class Example(Settings):
    share: float | None = setting(None, "--share P", above=0, maximum=1)
    ratio: float | None = setting(None, "--ratio", above=0)
    count: int = setting(1, "--count N", minimum=1)
    switch: bool = setting(False, "--switch")
    threshold: float | None = setting(None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"share": 0}, "expected `share` as a number above 0 and at most 1, found 0"),
        ({"ratio": float("inf")}, "expected `ratio` as a number above 0, found inf"),
        ({"share": float("nan")}, "above 0 and at most 1, found nan"),
        ({"share": True}, "above 0 and at most 1, found True"),
        ({"share": "high"}, "above 0 and at most 1, found 'high'"),
        ({"count": 0}, "expected `count` as an integer of at least 1, found 0"),
        ({"count": 1.5}, "an integer of at least 1, found 1.5"),
        ({"count": None}, "an integer of at least 1, found None"),
        ({"switch": "no"}, "expected True or False as `switch`, found 'no'"),
        ({"threshold": "x"}, "expected `threshold` as a number, found 'x'"),
    ],
)
def test_a_value_is_checked_by_the_declaration_of_its_field(values, message):
    with pytest.raises(UsageError, match=message):
        Example(**values)


def test_bounds_include_a_minimum_and_a_maximum_but_not_what_a_number_is_above():
    assert Example(share=1, count=1) == Example(share=1.0)
    assert Example(share=5e-324).share == 5e-324


def test_given_settings_are_those_that_differ_from_their_defaults():
    assert Example().given == []
    assert Example(count=1, switch=True, share=0.5).given == ["share", "switch"]


def test_choices_are_checked_and_the_closest_is_named():
    with pytest.raises(UsageError, match=r"values of `extract`: posterior, .*'mutal'; did you mean 'mutual'"):
        LinkSettings("mutal")
    with pytest.raises(UsageError, match=r"found 5$"):
        LinkSettings(5)
    with pytest.raises(UsageError, match="write `symmetrize=union`"):
        LinkSettings("union")
    with pytest.raises(UsageError, match="cannot be combined"):
        LinkSettings("mutual", symmetrize="union")

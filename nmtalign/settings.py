"""The settings of each activity, each declared once: its type, default, bounds, option and help text.

A public function lists its settings once more, for editors and ``help``; `tests/test_settings.py` compares
both. The command line makes its options from the fields (:mod:`nmtalign.cli.declare`). The functions inside
pass the object on. Values are checked when it is constructed, which is where a user gives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from nmtalign.errors import UsageError
from nmtalign.names import SYMMETRIZATIONS, ExtractionName, Symmetrization
from nmtalign.validation import check_bool, check_choice, check_number, quote_parameter

RUNNING = "Running"  # the section of --help for settings that name no other
OTHER_COMMANDS = ""  # the key of a default that is shown by all commands without one of their own
_DECLARATION_KEY = "declaration"  # the key of a field's metadata


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a field declares besides its name, type and default."""

    names: tuple[str, ...] = ()  # the names of the option, such as -o and --output; none: Python only
    metavar: str | None = None
    help: str = ""
    above: float | None = None  # a number is greater than this
    minimum: float | None = None
    maximum: float | None = None
    section: str | None = None  # the section of --help; None: that of the group
    shown_defaults: Mapping[str, str] | None = None  # what each command does without the option
    # what only the command line needs: the type that click converts to, and checks
    type: Any = None
    required: bool = False
    callback: Callable[..., Any] | None = None
    is_argument: bool = False


def setting(
    default: Any = None,
    option: str = "",
    help: str = "",
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    section: str | None = None,
    shown_defaults: Mapping[str, str] | None = None,
) -> Any:
    """Declare a setting as a field: ``threshold: float | None = setting(None, "--threshold P", "Keep ...")``.

    `option` has the names of the option, and its metavar if the last word begins with a capital; without it,
    only Python has the setting. The annotation of the field gives the type: ``bool`` makes a switch, a
    ``Literal`` a choice. Commands may act differently if the option is not given: `shown_defaults` describes
    what each does, by the name of the command.
    """
    names, metavar = split_option(option)
    declaration = Declaration(
        names=names,
        metavar=metavar,
        help=help,
        above=above,
        minimum=minimum,
        maximum=maximum,
        section=section,
        shown_defaults=shown_defaults,
    )
    return declared_field(declaration, default)


def split_option(option: str) -> tuple[tuple[str, ...], str | None]:
    """Return the names of an option and its metavar: ``"-o --output FILE"``."""
    words = option.split()
    metavar = words.pop() if words and words[-1][0].isupper() else None
    return tuple(words), metavar


def declared_field(declaration: Declaration, default: Any = None) -> Any:
    """Return a field of a dataclass that carries a declaration."""
    return field(
        default=MISSING if declaration.required else default, metadata={_DECLARATION_KEY: declaration}
    )


def declaration_of(attribute: Any) -> Declaration | None:
    """Return what a field declares; None for a field that is a group of settings itself."""
    declaration: Declaration | None = attribute.metadata.get(_DECLARATION_KEY)
    return declaration


class Settings:
    """Base class of groups of settings: frozen dataclasses whose fields are settings, or groups."""

    section: ClassVar[str] = RUNNING  # where --help lists the options, unless one names another section

    def __post_init__(self) -> None:
        group: Any = type(self)
        for name, declaration, types in _checked_fields(group):
            value = getattr(self, name)
            if value is not None or NoneType not in types:
                _check_setting(name, value, declaration, types)

    @property
    def given(self) -> list[str]:
        """The names of the settings that are not their defaults."""
        return [a.name for a in fields(self) if getattr(self, a.name) is not a.default]  # type: ignore[arg-type]


@cache
def _checked_fields(group: Any) -> list[tuple[str, Declaration, tuple[Any, ...]]]:
    """Return the name, the declaration and the types of each setting of a group."""
    annotations = get_type_hints(group)
    checked = []
    for attribute in fields(group):
        declaration = declaration_of(attribute)
        if declaration is not None:
            checked.append((attribute.name, declaration, types_of(annotations[attribute.name])))
    return checked


def types_of(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the type itself."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def choices_of(types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of the literals among some types."""
    return tuple(choice for kind in types if get_origin(kind) is Literal for choice in get_args(kind))


def _check_setting(name: str, value: Any, declaration: Declaration, types: tuple[Any, ...]) -> None:
    """Raise UsageError if a value is not one of the choices, is out of bounds, or has another type."""
    others = [kind for kind in types if kind is not NoneType and get_origin(kind) is not Literal]
    choices = choices_of(types)
    if choices and (isinstance(value, str) or not others):
        check_choice(value, choices, f"values of {quote_parameter(name)}:")
    elif others == [bool]:
        check_bool(value, name)
    elif others in ([float], [int]):
        _check_number(name, value, declaration, integer=others == [int])


def _check_number(name: str, value: Any, declaration: Declaration, *, integer: bool) -> None:
    above, minimum, maximum = declaration.above, declaration.minimum, declaration.maximum
    if above is not None:
        bounds = f" above {above:g}"
        minimum = math.nextafter(above, math.inf)
    elif minimum is None:
        bounds = ""
    else:
        bounds = f" of at least {minimum:g}"
    if maximum is not None:
        bounds = f"{bounds} and at most {maximum:g}"
    check_number(
        value,
        f"{quote_parameter(name)} as {'an integer' if integer else 'a number'}{bounds}",
        minimum=-math.inf if minimum is None else minimum,
        maximum=math.inf if maximum is None else maximum,
        integer=integer,
    )


@dataclass(frozen=True)
class LinkSettings(Settings):
    """How links are chosen from posteriors; the model decides what is None."""

    section = "Links"

    extract: ExtractionName | None = setting(
        None,
        "--extract",
        "Method that chooses the links: `posterior` takes the cells above --threshold, and second words;"
        " `one-to-one` at most one link per word; `mutual` the cells that are the best of their row and of"
        " their column.",
        shown_defaults={
            "links-from": "mutual; with --method: the rule of the method",
            OTHER_COMMANDS: "posterior; with --positions none or diagonal: mutual",
        },
    )
    threshold: float | None = setting(
        None,
        "--threshold P",
        "Keep only links whose posterior (`transport`: share of the plan) is at least P; turns off second"
        " words and phrases of dictionaries.",
        above=0,
        maximum=1,
    )
    symmetrize: Symmetrization | None = setting(
        None,
        "--symmetrize",
        "Instead of --extract, join the best links of both directions by this method.",
    )

    def __post_init__(self) -> None:
        if str(self.extract) in SYMMETRIZATIONS:
            joins = f"{self.extract!r} joins the links of both directions"
            raise UsageError(f"{joins}; write `symmetrize={self.extract}`")
        super().__post_init__()
        if self.extract is not None and self.symmetrize is not None:
            raise UsageError("`symmetrize` and `extract` cannot be combined; remove one")

"""How a setting is declared, once: its type, default, bounds, option and help text are those of a field.

Groups of settings are frozen dataclasses. Those of the library are in :mod:`nmtalign.settings`; a command has
others. Values are checked when a group is constructed, which is where a user gives them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from nmtalign.validation import check_bool, check_choice, check_number, quote_parameter

RUNNING = "Running"  # the section of --help for settings that name no other
OTHER_COMMANDS = ""  # the key of a default that is shown by all commands without one of their own
# What a text means on the command line: `nmtalign.cli.parameter_types` has the type that reads it.
ValueKind = Literal[
    "input", "output", "older model", "Hugging Face model", "tokenizer", "languages", "numbers", "length"
]
# types of fields that this module cannot import
_TYPES_ABOVE = dict.fromkeys(
    (
        "Alignment",
        "AnyArray",
        "ArrayLike",
        "Colormap",
        "GivenDictionaries",
        "GoldAlignment",
        "GoldInput",
        "Languages",
        "LinksInput",
        "LinksOfPair",
        "VectorScore",
        "WordEncoderInput",
    ),
    Any,
)
_DECLARATION_KEY, _SECTION_KEY = "declaration", "section"  # keys of the metadata of a field


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a field declares besides its name, type and default."""

    names: tuple[str, ...] = ()  # the names of the option, such as -o and --output; none: Python only
    metavar: str | None = None
    help: str = ""
    above: float | None = None  # a number is greater than this
    minimum: float | None = None
    maximum: float | None = None
    kind: ValueKind | None = None
    is_repeated: bool = False  # the option may be given several times
    only_on_command_line: bool = False  # no configuration file, and no variable of the environment, sets it
    section: str | None = None  # the section of --help; None: that of the group
    shown_defaults: Mapping[str, str] | None = None  # what each command does without the option
    type: Any = None  # of click, if the annotation and `kind` do not say enough
    callback: Callable[..., Any] | None = None  # of click
    is_argument: bool = False


def setting(
    default: Any = None,
    option: str = "",
    help: str = "",
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    kind: ValueKind | None = None,
    is_repeated: bool = False,
    only_on_command_line: bool = False,
    section: str | None = None,
    shown_defaults: Mapping[str, str] | None = None,
    type: Any = None,
    callback: Callable[..., Any] | None = None,
) -> Any:
    """Declare a setting as a field: ``threshold: float | None = setting(None, "--threshold P", "Keep ...")``.

    `option` has the names of the option, and its metavar if the last word begins with a capital; without it,
    only Python has the setting. The annotation of the field gives the type: ``bool`` makes a switch, a
    ``Literal`` a choice, ``tuple[str, ...]`` an option that may be repeated. An option without a `default`
    (``dataclasses.MISSING``) is required. Commands may act differently if the option is not given:
    `shown_defaults` describes what each does, by the name of the command.
    """
    words = option.split()
    metavar = words.pop() if words and words[-1][0].isupper() else None
    declaration = Declaration(
        names=tuple(words),
        metavar=metavar,
        help=help,
        above=above,
        minimum=minimum,
        maximum=maximum,
        kind=kind,
        is_repeated=is_repeated,
        only_on_command_line=only_on_command_line,
        section=section,
        shown_defaults=shown_defaults,
        type=type,
        callback=callback,
    )
    return field(default=default, metadata={_DECLARATION_KEY: declaration})


def argument(*, kind: ValueKind | None = None, required: bool = True, metavar: str | None = None) -> Any:
    """Declare an argument of a command as a field; --help shows `metavar`, or else the name of the field."""
    declaration = Declaration(kind=kind, is_argument=True, metavar=metavar)
    return field(default=MISSING if required else None, metadata={_DECLARATION_KEY: declaration})


def settings_group(kind: type[Settings], *, section: str | None = None) -> Any:
    """Declare a group of settings as a field of another group; `section` replaces that of the group."""
    return field(default_factory=kind, metadata={_SECTION_KEY: section})


def section_of_group(attribute: Any) -> str | None:
    """Return the section of ``--help`` for a field that is a group; None: that of its class."""
    section: str | None = attribute.metadata.get(_SECTION_KEY)
    return section


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
    annotations = field_types(group)
    checked = []
    for attribute in fields(group):
        declaration = declaration_of(attribute)
        if declaration is not None:
            checked.append((attribute.name, declaration, types_of(annotations[attribute.name])))
    return checked


def field_types(group: type[Settings]) -> dict[str, Any]:
    """Return the type of each field of a group, by its name."""
    of_any_type: Any = group  # mypy takes the hash of an instance for that of the class
    return _field_types(of_any_type)


@cache
def _field_types(group: Any) -> dict[str, Any]:
    return get_type_hints(group, localns=_TYPES_ABOVE)


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
        maximum=sys.float_info.max if maximum is None else maximum,
        integer=integer,
    )

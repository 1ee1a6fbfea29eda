"""Every regular expression of the package takes time in proportion to the text, whatever the text is.

The expressions are found in the source. Their hardest texts are made from their parts: what comes before a
repetition, then what is repeated, many times, then an end that does not match.
"""

from __future__ import annotations

import ast
import importlib
import math
import pkgutil
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from types import SimpleNamespace
from typing import Any, NamedTuple

from ftfy.badness import BADNESS_RE

import nmtalign
from nmtalign.files import sniffing
from nmtalign.text import tokenization

METHODS = {"search", "match", "fullmatch", "sub", "split", "findall", "finditer"}
PLACE_OF_FLAGS = {"compile": 1, "sub": 4, "split": 3}  # in the functions of `re`; 2 in others
NOT_FOREIGN = {"nmtalign.report.html"}  # reads only files of the package
# The values of names that exist only while a function runs
LOCAL_VALUES: dict[str, list[dict[str, Any]]] = {
    "nmtalign.applications.markup": [{"tag": SimpleNamespace(name="b"), "name": "b"}],
    "nmtalign.files.sniffing": [{"pattern": pattern} for pattern, *_ in sniffing._OTHER_KINDS],
    "nmtalign.files.xml_files": [{"alternatives": b"tu"}],
    "nmtalign.text.tokenization": [
        {"mark": "[\u0300-\u036f]", "words": "a", "marks": "\u0300", "joined": "b", "follows": "c"}
    ],
}
# The methods of expressions in a table
METHODS_OF_TABLES = {"nmtalign.text.bitext": "match"}

REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
UNBOUNDED = 100  # repetitions
ODD_CHARACTERS = " \ta0.-,<&\"'(\\\u00e9\u0301\u4e00"
MAX_SAMPLES = 8  # of a part of an expression
ENDS = ("", "\0", " !")

FIRST_SMALL, LAST_SMALL = 16, 350  # characters; exponential time shows before it hangs
MAX_SMALL_SECONDS = 0.05
STEP_SECONDS = 2e-8  # about what one step of a search takes
SHORT, LONG = 500, 2_000
MIN_LONG_SECONDS = 0.002  # what takes less is not measured: a quadratic time takes more
MAX_RATIO = 8  # of the times of LONG and SHORT: 4 is linear, 16 is quadratic


class Expression(NamedTuple):
    """A regular expression, where it is used, and the method that it is used with."""

    place: str
    pattern: re.Pattern[Any]
    method: str

    def seconds(self, attack: tuple[str, str, str], length: int) -> float:
        """Return how much time the processor takes for a text of some length."""
        start, repeated, end = attack
        text: Any = start + repeated * max(length // len(repeated), 1) + end
        if isinstance(self.pattern.pattern, bytes):
            text = text.encode()
        run = getattr(self.pattern, self.method)
        arguments = [text[:0], text] if self.method == "sub" else [text]
        begin = time.process_time()
        found = run(*arguments)
        if self.method == "finditer":
            list(found)
        return time.process_time() - begin


def expressions() -> Iterator[Expression]:
    """Yield all expressions of the package."""
    sources = {name: Path(file).read_text(encoding="utf-8") for name, file in module_files()}
    used = defaultdict(set)  # methods by the name of the expression, or of the attribute that has it
    for source in sources.values():
        for name, method in re.findall(rf"\b(\w+)\.({'|'.join(METHODS)})\b", source):
            used[name].add(method)
    for name, source in sources.items():
        if name in NOT_FOREIGN or "import re\n" not in source:
            continue
        module = importlib.import_module(name)
        tree = ast.parse(source)
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and is_call_of_re(call):
                methods = methods_of(call, parents[call], used, METHODS_OF_TABLES.get(name, "search"))
                for values in LOCAL_VALUES.get(name, [{}]):
                    pattern = pattern_of(call, vars(module) | values)
                    for method in methods:
                        yield Expression(f"{name}:{call.lineno}", pattern, method)
    yield Expression("mojibake", BADNESS_RE, "finditer")
    for language in (None, "it"):
        pattern = tokenization._pattern(language, True, True, False, True)
        yield Expression(f"the tokenizer of {language}", pattern, "finditer")


def module_files() -> Iterator[tuple[str, str]]:
    for found in pkgutil.walk_packages(nmtalign.__path__, "nmtalign."):
        specification = importlib.util.find_spec(found.name)
        if not found.name.endswith("__main__") and specification is not None:
            yield found.name, str(specification.origin)


def is_call_of_re(call: ast.Call) -> bool:
    function = call.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return False
    return function.value.id == "re" and function.attr in METHODS | {"compile"}


def methods_of(
    call: ast.Call, parent: ast.AST, used: Mapping[str, set[str]], otherwise: str
) -> Sequence[str]:
    """Return the methods that an expression is used with."""
    name = call.func.attr  # type: ignore[attr-defined]
    if name != "compile":
        return [name]
    if isinstance(parent, ast.Attribute):
        return [parent.attr]
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    names = [ast.unparse(target).rpartition(".")[2] for target in targets]
    methods = {method for name in names for method in used.get(name, ())}
    return sorted(methods) or [otherwise]


def pattern_of(call: ast.Call, values: dict[str, Any]) -> re.Pattern[Any]:
    """Return the expression of a call of `re`, from the source of its arguments."""
    name = call.func.attr  # type: ignore[attr-defined]
    place = PLACE_OF_FLAGS.get(name, 2)
    of_flags = [
        *call.args[place : place + 1],
        *(given.value for given in call.keywords if given.arg == "flags"),
    ]
    pattern = eval(ast.unparse(call.args[0]), dict(values))
    return re.compile(pattern, *(eval(ast.unparse(flags), dict(values)) for flags in of_flags))


# --- the hardest texts of an expression ----------------------------------------------------------


def attacks(expression: Expression) -> set[tuple[str, str, str]]:
    """Return texts: their beginnings, what is repeated, and their ends."""
    found = set()
    tree = _parser.parse(expression.pattern.pattern, expression.pattern.flags)
    for before, repeated in repetitions(tree):
        found |= {("", before, end) for end in ENDS}
        for text in repeated:
            found |= {(before, text, end) for end in ENDS}
            found |= {("", before + text, ""), (before + text, " ", "\0"), (before, text + " ", "\0")}
    return {attack for attack in found if attack[1]}


def repetitions(parts: Iterable[Any], before: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield a text that comes before each unbounded repetition, and texts of what is repeated."""
    for kind, value in parts:
        if kind in REPEATS:
            _, most, repeated = value
            if most > UNBOUNDED:
                yield before, samples(repeated)
            yield from repetitions(repeated, before)
        for inner in sequences_of(kind, value):
            yield from repetitions(inner, before)
        before += samples_of_part(kind, value)[0]


def sequences_of(kind: Any, value: Any) -> Sequence[Any]:
    """Return the sequences of parts that a group or a choice consists of."""
    if kind is _constants.BRANCH:
        return list(value[1])
    if kind is _constants.SUBPATTERN:
        return [value[3]]
    return [value] if kind is _constants.ATOMIC_GROUP else []


def samples(parts: Iterable[Any]) -> list[str]:
    """Return texts of a sequence: of the first text of each part, and of the other texts of one part."""
    choices = [samples_of_part(kind, value) for kind, value in parts]
    first = [texts[0] for texts in choices]
    found = ["".join(first)]
    for place, texts in enumerate(choices):
        found += ["".join([*first[:place], text, *first[place + 1 :]]) for text in texts[1:]]
    return found[:MAX_SAMPLES]


def samples_of_part(kind: Any, value: Any) -> list[str]:
    """Return texts that a part matches; for a condition of the neighbors, the empty text."""
    if kind is _constants.LITERAL:
        return [chr(value)]
    if kind is _constants.IN:
        return characters_of(value)
    if kind in REPEATS:
        least, _, repeated = value
        texts = [text * max(least, 1) for text in samples(repeated)]
        return texts if least else [*texts, ""]
    if kind in (_constants.ANY, _constants.NOT_LITERAL):
        return ["a"]
    sequences = sequences_of(kind, value)
    return [text for sequence in sequences for text in samples(sequence)][:MAX_SAMPLES] or [""]


def characters_of(parts: Any) -> list[str]:
    """Return a few characters of a set."""
    named = [chr(value) for kind, value in parts if kind is _constants.LITERAL]
    named += [chr(value[0]) for kind, value in parts if kind is _constants.RANGE]
    tree = _parser.parse("a")
    tree[0] = (_constants.IN, parts)
    is_inside = re._compiler.compile(tree).fullmatch  # type: ignore[attr-defined]
    return [text for text in (*named, *ODD_CHARACTERS) if is_inside(text)][:4] or ["a"]


# --- the test ------------------------------------------------------------------------------------


def slow_text(expression: Expression) -> str:
    """Return the text that takes too long; "" if there is none."""
    for attack in sorted(attacks(expression)):
        if is_exponential(expression, attack):
            return f"{attack} is exponential"
        long = expression.seconds(attack, LONG)
        if long > max(MIN_LONG_SECONDS, MAX_RATIO * expression.seconds(attack, SHORT)):
            short, long = (min(expression.seconds(attack, size) for _ in range(5)) for size in (SHORT, LONG))
            if long > MAX_RATIO * short:
                return f"{attack} takes {long / short:.0f} times as long for {LONG // SHORT} times the text"
    return ""


def is_exponential(expression: Expression, attack: tuple[str, str, str]) -> bool:
    """Return whether a text of a few hundred characters takes long.

    Each text is as long as it can be without taking more than some tenths of a second, if the time of the
    text before grew exponentially: a fast search needs few of them.
    """
    length = FIRST_SMALL
    while length <= LAST_SMALL:
        seconds = expression.seconds(attack, length)
        # twice: another program may have taken the time of the first run
        if seconds > MAX_SMALL_SECONDS < expression.seconds(attack, length):
            return True
        growth = math.log(max(seconds / STEP_SECONDS, 2)) / length
        longest = int(math.log(10 * MAX_SMALL_SECONDS / STEP_SECONDS) / growth)
        length = LAST_SMALL if length < LAST_SMALL < longest else max(longest, length + 3)
    return False


def test_no_expression_takes_more_than_linear_time():
    found = {(one.pattern, one.method): one for one in expressions()}  # one of equal ones
    assert len(found) > 100
    slow = {(one.place, one.pattern.pattern): text for one in found.values() if (text := slow_text(one))}
    assert slow == {}


def test_expressions_that_take_long_are_noticed():
    for pattern, method in (
        (r"\s*(?:www\.\S+\s*)+", "fullmatch"),
        (r"(?:a+b*)*'", "match"),
        (r"\d+\.?\d*", "fullmatch"),
        (r"\s*\d", "sub"),
        (r"<!--.*?-->", "search"),
        (r"([\w:]++)=", "findall"),
    ):
        assert slow_text(Expression("here", re.compile(pattern), method)), pattern

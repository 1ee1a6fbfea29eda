"""Calls whose arguments do not fit: an error in our words that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from nmtalign.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

# What other packages call an option, by our name for it.
_OTHER_NAMES = {
    "attention_heads": ("head", "heads"),
    "bootstrap": ("n_boot", "n_bootstrap", "n_resamples", "n_samples", "resamples", "samples"),
    "cache": ("cache_dir", "cache_file"),
    "init": ("base_model", "from_model", "initial_model", "model", "pretrained"),
    "chunk_size": ("batch", "chunk", "chunksize"),
    "colors": ("cmap", "color", "colormap", "palette"),
    "encoder": ("bert", "encoder_name", "model_name", "model_name_or_path"),
    "extract": ("algorithm", "extraction", "method"),
    "format": ("file_format", "fmt", "kind"),
    "gold": ("annotations", "golds", "gold_links", "reference", "references"),
    "languages": ("lang", "langs", "language", "src_lang", "tgt_lang"),
    "lowercase": ("do_lower_case", "lower", "lower_case"),
    "numbers": ("annot", "annotate", "show_values"),
    "path": ("file", "filename", "fname", "folder", "model", "model_path"),
    "overwrite": ("exist_ok", "force", "replace"),
    "progress": ("progress_bar", "show_progress", "tqdm", "verbose", "verbosity"),
    "select": ("column", "columns", "cols", "usecols"),
    "targets": ("target", "target_sentences", "tgt", "trg"),
    "threshold": ("cutoff", "min_prob", "min_probability"),
    "tokenizer": ("tokenize", "tokenise", "tokenization"),
    "unicode": ("normal_form", "normalization"),
    "vectors": ("embeddings", "word_vectors"),
    "workers": (
        *("cores", "jobs", "max_workers", "n_cpus", "n_cores", "n_jobs", "n_processes", "n_threads"),
        *("n_workers", "num_threads", "num_workers", "processes", "threads"),
    ),
}

_DETERMINISTIC = "nothing is drawn at random: the same input always gives the same result"
_ITERATIONS = "the number of iterations belongs to the `preset`"
_COLUMNS = (
    "the source sentences come first, without a name; of a table choose two columns: table[['en', 'fr']]"
)
_BINARY = "write `format='word2vec-binary'`"
_OWN_AXES = "the figure that is returned has axes of its own, figure.axes[0]"
_OWN_SIZE = "the size follows from the words; change it with figure.set_size_inches"
# Why there is no option of a name that other packages have.
_REASONS = {
    **dict.fromkeys(("random_seed", "random_state", "rng", "seed"), _DETERMINISTIC),
    **dict.fromkeys(("epochs", "iterations", "max_iter", "n_epochs", "n_iter", "num_epochs"), _ITERATIONS),
    **dict.fromkeys(("ax", "axes"), _OWN_AXES),
    **dict.fromkeys(("fig_size", "figsize", "size"), _OWN_SIZE),
    **dict.fromkeys(("source", "source_sentences", "sources", "src"), _COLUMNS),
    "binary": _BINARY,
    "batch_size": "results do not depend on the size of a batch, and memory is bounded",
}
# The option that a function has to have where a reason applies.
_NEEDED = {
    _ITERATIONS: "preset",
    _COLUMNS: "targets",
    _BINARY: "errors",
    _OWN_AXES: "colors",
    _OWN_SIZE: "colors",
}


def check_call(advice: str = "") -> Callable[[Function], Function]:
    """Return a decorator: a call whose arguments do not fit raises a UsageError that says what to write.

    `advice` is added where arguments are missing or too many, such as "write align(*pair)".
    """

    def decorate(function: Function) -> Function:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if not _is_from_call(error):
                    raise
            raise UsageError(_explain_call(function, args, kwargs, advice))

        return cast(Function, call)

    return decorate


def check_constructor(advice: str = "") -> Callable[[Class], Class]:
    """Return a decorator of a class that does for its constructor what :func:`check_call` does."""

    def decorate(cls: Class) -> Class:
        constructor = check_call(advice)(vars(cls)["__init__"])
        setattr(cls, "__init__", constructor)  # noqa: B010  # mypy forbids an assignment to __init__
        return cls

    return decorate


def _is_from_call(error: TypeError) -> bool:
    """Return whether the call itself failed: then no line of the function has run."""
    traceback = error.__traceback__
    return traceback is not None and traceback.tb_next is None


def _explain_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], advice: str
) -> str:
    """Return why arguments do not fit a function, and what to write."""
    import inspect

    parameters = list(inspect.signature(function).parameters.values())
    if parameters and parameters[0].name in ("self", "cls"):
        parameters, args = parameters[1:], args[1:]
    name = _function_name(function)
    names = [parameter.name for parameter in parameters]
    for keyword in kwargs:
        if keyword not in names:
            return f"{name} has no option `{keyword}`; {suggest_option(keyword, names)}"
    by_position = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    positions = ", ".join(parameter.name for parameter in by_position)
    end = f"; {advice}" if advice else ""
    if len(args) > len(by_position):
        more = ", and options by their names" if len(by_position) < len(parameters) else ""
        return f"expected {name}({positions}){more}, found {len(args)} values without a name{end}"
    given = {*names[: len(args)], *kwargs}
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in given]
    if missing:
        return f"expected {name}({positions}), found no `{missing[0]}`{end}"
    twice = next(keyword for keyword in kwargs if keyword in names[: len(args)])
    return f"expected {name}({positions}), found `{twice}` twice: by position and by name"


def _function_name(function: Callable[..., Any]) -> str:
    owner, _, name = function.__qualname__.rpartition(".")
    return owner if name == "__init__" else name


def closest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a misspelt one; None if none is.

    >>> closest_name("treshold", ["tokenizer", "threshold"])
    'threshold'
    """
    from difflib import get_close_matches

    matches = get_close_matches(name, known, 1) if isinstance(name, str) else []
    return matches[0] if matches else None


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that a module does not have.

    >>> unknown_attribute("nmtalign", "Train", ["load", "train"])
    "module 'nmtalign' has no attribute 'Train'; did you mean 'train'?"
    """
    closest = closest_name(name, known)
    advice = f"; did you mean {closest!r}?" if closest else ""
    return f"module {module!r} has no attribute {name!r}{advice}"


def suggest_option(name: str, known: Iterable[str]) -> str:
    """Return advice on what to write instead of an option that does not exist.

    >>> suggest_option("n_jobs", ["preset", "workers"]), suggest_option("prest", ["preset", "workers"])
    ('write `workers`', 'did you mean `preset`?')
    """
    known = list(known)
    for ours, others in _OTHER_NAMES.items():
        if name in others and ours in known:
            return f"write `{ours}`"
    reason = _REASONS.get(name)
    if reason is not None and (reason not in _NEEDED or _NEEDED[reason] in known):
        return reason
    if closest := closest_name(name, known):
        return f"did you mean `{closest}`?"
    return f"it takes {', '.join(known)}" if known else "it takes no options"

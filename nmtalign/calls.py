"""Calls whose arguments do not fit: an error in our words that says what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, cast

from nmtalign.errors import UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)

# The names that other packages have for an option of ours.
_NAMES_ELSEWHERE = {
    "attention_heads": ("head", "heads"),
    "bootstrap": ("n_boot", "n_bootstrap", "n_resamples", "n_samples", "resamples", "samples"),
    "cache": ("cache_dir", "cache_file"),
    "chunk_size": ("batch", "chunk", "chunksize"),
    "cmap": ("color", "colormap", "colors", "palette"),
    "encoder": ("bert", "encoder_name", "model_name", "model_name_or_path"),
    "extract": ("algorithm", "extraction", "method"),
    "figsize": ("fig_size", "size"),
    "format": ("file_format", "fmt", "kind"),
    "gold": ("annotations", "gold_links", "golds", "reference", "references"),
    "init": ("base_model", "from_model", "initial_model", "model", "pretrained"),
    "languages": ("lang", "langs", "language", "src_lang", "tgt_lang"),
    "lowercase": ("do_lower_case", "lower", "lower_case"),
    "numbers": ("annot", "annotate", "show_values"),
    "overwrite": ("exist_ok", "force", "replace"),
    "path": ("file", "filename", "fname", "folder", "model", "model_path"),
    "prior": ("dictionaries", "dictionary", "glossary"),
    "progress": ("progress_bar", "show_progress", "tqdm", "verbose", "verbosity"),
    "score": ("measure", "metric", "similarity"),
    "select": ("column", "columns", "cols", "usecols"),
    "source": ("source_column", "source_sentences", "sources", "src"),
    "target": ("target_column", "tgt", "trg"),
    "targets": ("target", "target_sentences", "tgt", "trg"),
    "threshold": ("cutoff", "min_prob", "min_probability"),
    "tokenizer": ("tokenise", "tokenization", "tokenize"),
    "unicode": ("normal_form", "normalization"),
    "vectors": ("embeddings", "word_vectors"),
    "workers": (
        "cores",
        "jobs",
        "max_workers",
        "n_cores",
        "n_cpus",
        "n_jobs",
        "n_processes",
        "n_threads",
        "n_workers",
        "num_threads",
        "num_workers",
        "processes",
        "threads",
    ),
}


class _MissingOption(NamedTuple):
    """Why there is no option of a name that other packages have."""

    reason: str
    needed: str | None = None  # the reason is true of functions with this option only

    def applies_to(self, options: Sequence[str]) -> bool:
        """Return whether the reason is true of a function with these options."""
        return self.needed is None or self.needed in options


_DETERMINISTIC = _MissingOption(
    "nothing is drawn at random: training is deterministic, and the same input always gives the same result"
)
_ITERATIONS = _MissingOption("the number of iterations belongs to the `preset`", needed="preset")
_TWO_SIDES = _MissingOption(
    "the source sentences come first, without a name; of a table choose two columns: table[['en', 'fr']]",
    needed="targets",
)
_BINARY = _MissingOption("write `format='word2vec-binary'`", needed="errors")
_OWN_AXES = _MissingOption("pair.heatmap(ax=axes) and heatmap(matrix, ax=axes) take axes", needed="cmap")
_OWN_SIZE = _MissingOption(
    "the size follows from the words; change it with figure.set_size_inches", needed="cmap"
)
_CHOICE_OF_LINKS = _MissingOption(
    "an aligner chooses links: load(aligner, extract='one-to-one') returns one that chooses them otherwise, "
    "also by `threshold` or `symmetrize`",
    needed="expert",
)
_BATCH_SIZE = _MissingOption("results do not depend on the size of a batch, and memory is bounded")
_MISSING_OPTIONS: dict[str, _MissingOption] = {
    "ax": _OWN_AXES,
    "axes": _OWN_AXES,
    "batch_size": _BATCH_SIZE,
    "binary": _BINARY,
    "epochs": _ITERATIONS,
    "extract": _CHOICE_OF_LINKS,
    "extraction": _CHOICE_OF_LINKS,
    "fig_size": _OWN_SIZE,
    "figsize": _OWN_SIZE,
    "iterations": _ITERATIONS,
    "max_iter": _ITERATIONS,
    "n_epochs": _ITERATIONS,
    "n_iter": _ITERATIONS,
    "num_epochs": _ITERATIONS,
    "random_seed": _DETERMINISTIC,
    "random_state": _DETERMINISTIC,
    "rng": _DETERMINISTIC,
    "seed": _DETERMINISTIC,
    "size": _OWN_SIZE,
    "source": _TWO_SIDES,
    "source_sentences": _TWO_SIDES,
    "sources": _TWO_SIDES,
    "src": _TWO_SIDES,
    "symmetrize": _CHOICE_OF_LINKS,
    "threshold": _CHOICE_OF_LINKS,
}


# The values that other packages have for one of ours.
_VALUES_ELSEWHERE = {
    "gd": "grow-diag",
    "gdf": "grow-diag-final",
    "gdfa": "grow-diag-final-and",
    "inter": "intersection",
    "intersect": "intersection",
    "iob": "iob1",
    "iob2": "bio",
    "iobes": "bioes",
    "moses": "pharaoh",
    "ner": "bio",
    "pos": "labels",
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
        parameters = parameters[1:]
        args = args[1:]
    names = [parameter.name for parameter in parameters]
    name = _function_name(function)
    for keyword in kwargs:
        if keyword not in names:
            return f"{name} has no option `{keyword}`; {suggest_option(keyword, names)}"

    by_position: list[str] = []
    required: list[str] = []
    for parameter in parameters:
        if parameter.kind is not parameter.KEYWORD_ONLY:
            by_position.append(parameter.name)
        if parameter.default is parameter.empty:
            required.append(parameter.name)
    expected = f"expected {name}({', '.join(by_position)})"
    advice_at_end = f"; {advice}" if advice else ""
    if len(args) > len(by_position):
        if len(by_position) < len(parameters):
            expected += ", and options by their names"
        return f"{expected}, found {len(args)} values without a name{advice_at_end}"

    given_by_position = names[: len(args)]
    for parameter_name in required:
        if parameter_name not in given_by_position and parameter_name not in kwargs:
            return f"{expected}, found no `{parameter_name}`{advice_at_end}"
    # the only mistake that is left
    twice = next(keyword for keyword in kwargs if keyword in given_by_position)
    return f"{expected}, found `{twice}` twice: by position and by name"


def _function_name(function: Callable[..., Any]) -> str:
    owner, _, name = function.__qualname__.rpartition(".")
    return owner if name == "__init__" else name


def closest_name(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a misspelt one; None if none is.

    >>> closest_name("treshold", ["tokenizer", "threshold"])
    'threshold'
    """
    from difflib import get_close_matches

    if not isinstance(name, str):
        return None
    names = list(known)
    value_here = _VALUES_ELSEWHERE.get(name.lower())
    if value_here in names:
        return value_here
    matches = get_close_matches(name, names, 1) or get_close_matches(name.lower(), names, 1)
    return matches[0] if matches else None


# What to write instead of functions that other packages have, or that one may look for in this one.
_ADVICE_ON_NAMES = {
    "align": "write nmtalign.load().align(source, target), or nmtalign.train(pairs).align_batch(pairs)",
    "align_batch": "write nmtalign.load().align_batch(pairs)",
    "compare": "write first.compare(second) with two results, such as two of nmtalign.evaluate",
    "index": "write nmtalign.write_index('corpus.db', batch)",
    "save": "write aligner.save(folder)",
}


def unknown_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that a module does not have.

    >>> unknown_attribute("nmtalign", "Train", ["load", "train"])
    "module 'nmtalign' has no attribute 'Train'; did you mean 'train'?"
    """
    if module == "nmtalign" and name in _ADVICE_ON_NAMES:
        advice = f"; {_ADVICE_ON_NAMES[name]}"
    else:
        closest = closest_name(name, known)
        advice = f"; did you mean {closest!r}?" if closest else ""
    return f"module {module!r} has no attribute {name!r}{advice}"


_NAMES_OF_TABLES = ("dataframe", "df", "frame", "to_dataframe", "to_df", "to_frame", "to_pandas")
_NAMES_OF_PICTURES = ("draw", "imshow", "plot", "plot_heatmap", "visualize")
_SENTENCE_NAMES = (
    "sentences",
    "source_tokens",
    "source_words",
    "src",
    "target_tokens",
    "target_words",
    "tgt",
)
_WORDS_OF_PAIR = "write pair.tokens: the source words and the target words"
# What to write instead of members of results that one may look for.
_ADVICE_ON_MEMBERS: dict[str, dict[str, str]] = {
    "Aligner": {
        "fit": "write nmtalign.train(pairs) to learn an aligner, nmtalign.fit_to(aligner, pairs) to fit one",
        "predict": "write aligner.align_batch(pairs)",
        "train": "write nmtalign.train(pairs)",
        "transform": "write aligner.align_batch(pairs)",
    },
    "AlignedBatch": {
        **dict.fromkeys(_NAMES_OF_TABLES, "write batch.table()"),
        **dict.fromkeys(_NAMES_OF_PICTURES, "write batch[:6].heatmap()"),
        **dict.fromkeys(("attention", "forward", "reverse"), "write batch.matrices('forward')"),
        **dict.fromkeys((*_SENTENCE_NAMES, "tokens", "words"), "write batch[n].tokens"),
        "iloc": "write batch[n], batch[2:5] or batch[mask]",
        "loc": "write batch[labels] with an Index of pandas",
        "pairs": "the batch is a sequence of pairs: write batch[n]",
        "probabilities": "write batch.probability",
        "score": "write batch.scores, or batch[n].score",
        "shape": "len(batch) is the number of pairs, len(batch.source) that of links",
        "to_csv": "write batch.table().to_csv(path), or nmtalign.write_links(path, batch)",
    },
    "AlignedPair": {
        **dict.fromkeys(_NAMES_OF_TABLES, "write pair.table()"),
        **dict.fromkeys(_NAMES_OF_PICTURES, "write pair.heatmap()"),
        **dict.fromkeys((*_SENTENCE_NAMES, "source", "target"), _WORDS_OF_PAIR),
        **dict.fromkeys(("attention", "weights"), "write pair.forward, an array (T, S)"),
        "matrices": "write pair.forward, pair.reverse or pair.matrix",
        "shape": "write pair.forward.shape: the numbers of target words and of source words",
    },
    "AlignmentMatrix": {
        **dict.fromkeys(_NAMES_OF_TABLES, "write matrix.table()"),
        **dict.fromkeys(_NAMES_OF_PICTURES, "write matrix.heatmap()"),
        **dict.fromkeys(("dtype", "ndim", "shape"), "write matrix.weights.shape"),
    },
    "Evaluation": dict.fromkeys(_NAMES_OF_TABLES, "write evaluation.table()"),
}


def unknown_member(class_name: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an attribute that a result does not have; `known` are those that it has.

    >>> unknown_member("AlignedBatch", "df", ["table"])
    "'AlignedBatch' object has no attribute 'df'; write batch.table()"
    """
    message = f"{class_name!r} object has no attribute {name!r}"
    if name.startswith("_"):  # a protocol that another package looks for
        return message
    advice = _ADVICE_ON_MEMBERS.get(class_name, {}).get(name)
    if advice is not None:
        return f"{message}; {advice}"
    closest = closest_name(name, (one for one in known if not one.startswith("_")))
    return f"{message}; did you mean {closest!r}?" if closest else message


def suggest_option(name: str, known: Iterable[str]) -> str:
    """Return advice on what to write instead of an option that does not exist.

    `known` are the options that the function has.

    >>> suggest_option("n_jobs", ["preset", "workers"]), suggest_option("prest", ["preset", "workers"])
    ('write `workers`', 'did you mean `preset`?')
    """
    options = list(known)
    for option, names_elsewhere in _NAMES_ELSEWHERE.items():
        if name in names_elsewhere and option in options:
            return f"write `{option}`"
    missing = _MISSING_OPTIONS.get(name)
    if missing is not None and missing.applies_to(options):
        return missing.reason
    closest = closest_name(name, options)
    if closest is not None:
        return f"did you mean `{closest}`?"
    return f"it takes {', '.join(options)}" if options else "it takes no options"

"""Learn the parameters of attention over given vectors from the posteriors of an aligner."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nmtalign import blas
from nmtalign.aligner.aligner import Aligner, load_aligner
from nmtalign.aligner.opening import fit_text
from nmtalign.aligner.over_vectors import (
    aligner_over_vectors,
    open_vectors,
    vector_norms,
)
from nmtalign.aligner.training_job import TrainingJob
from nmtalign.aligner.training_steps import train_aligner
from nmtalign.arrays import Reals
from nmtalign.corpus.parallel import default_workers, parallel_map
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.display import with_plural
from nmtalign.errors import DataError, warn_caller
from nmtalign.files.atomic_output import AtomicFiles, check_overwrite
from nmtalign.files.paths import as_path, resolve_path
from nmtalign.names import LearnedScoreName, UnicodeForm
from nmtalign.positions.hmm import DEFAULT_NULL
from nmtalign.progress import ProgressInput, open_reporter
from nmtalign.scorers.vector_scores import PARAMETER_FILES, BahdanauScore, ProjectedDot, VectorScore
from nmtalign.settings import (
    AttentionSettings,
    GivenVectorsSettings,
    TrainingSettings,
    VectorFileSettings,
    WordSettings,
)
from nmtalign.text.bitext import ColumnName, Pair, Pairs, check_pairs
from nmtalign.text.tokenization import check_languages
from nmtalign.training.attention_parameters import (
    PARAMETER_CLASSES,
    TeacherPart,
    learn_parameters,
    teacher_parts,
)
from nmtalign.validation import check_type
from nmtalign.vectors.static_models import is_static_model
from nmtalign.vectors.storage import pair_languages

MAX_LEARNING_WORDS = 100  # pairs with more words on a side are not learned from
MAX_LEARNING_PAIRS = 20_000  # spread over the whole text; more pairs gained nothing


@dataclass(frozen=True, eq=False)
class LearnedAttention:
    """Parameters of an attention score that were learned for word vectors.

    The arrays have the names that the formula of the score uses. `null` contains the logits of the null word
    for target and for source words; `null_probability` is that of the aligner's hidden Markov model.
    """

    name: str  # "bahdanau" or "scaled-dot"
    arrays: Mapping[str, Reals]
    about: Mapping[str, Any]  # the source of the parameters, and their held-out loss per word

    def __repr__(self) -> str:
        return f"LearnedAttention: {self}"

    def __str__(self) -> str:
        pairs = self.about["pairs"]
        learned = f"held-out loss {self.about['held-out loss']}, {with_plural(pairs, 'pair')}"
        return f"{self.name} of {self.about['units']} units, {learned}"

    @property
    def score(self) -> VectorScore:
        """The score, as :func:`nmtalign.vector_aligner` takes it."""
        doubles = {name: np.asarray(array, np.float64) for name, array in self.arrays.items()}
        origin = PARAMETER_FILES[self.name]
        null = float(doubles["null_probability"])
        if self.name == "bahdanau":
            return BahdanauScore(
                W=doubles["W"], U=doubles["U"], v=doubles["v"], b=doubles["b"], origin=origin, null=null
            )
        return ProjectedDot(W_q=doubles["W_q"], W_k=doubles["W_k"], origin=origin, null=null)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the parameters into an .npz file, or into the folder of the vectors, and return the file.

        Raises UsageError if the file exists, unless `overwrite` is set.
        """
        path = as_path(path)
        if path.suffix != ".npz":
            path = path / PARAMETER_FILES[self.name]
        check_overwrite(path, overwrite=overwrite)
        note = np.frombuffer(json.dumps(dict(self.about), ensure_ascii=False).encode(), np.uint8)
        with AtomicFiles() as files:
            np.savez_compressed(files.binary(path), allow_pickle=False, **self.arrays, about=note)
        return path


@blas.one_thread()
def learn_attention(
    bitext: Pairs,
    vectors: str | Path | tuple[Any, Any],
    *,
    source: ColumnName = None,
    target: ColumnName = None,
    score: LearnedScoreName = "bahdanau",
    model: Aligner | str | Path | None = None,
    units: int = 128,
    workers: int | None = None,
    progress: ProgressInput = False,
    languages: tuple[str, str] | None = None,
    tokenizer: str | None = None,
    lowercase: bool | None = None,
    unicode: UnicodeForm | None = None,
    limit: int | None = None,
    unsafe_pickle: bool = False,
    strip_prefix: str | tuple[str, str] | None = None,
) -> LearnedAttention:
    """Learn the parameters of an attention score over given word vectors from the posteriors of an aligner.

    Parameters
    ----------
    bitext : iterable of (source, target), (list, list), table, or records
        Lines of text, or lists of words, as for :func:`train`; read once.
    vectors : path, (path, path) or (Embeddings, Embeddings)
        Word vectors of both languages, also gensim's, which are not changed; they need not share a space.
    source, target : str or int, optional
        The columns of a table, or the keys of records. Default: they are found by their names.
    score : {"bahdanau", "scaled-dot"}
    model : Aligner or path, optional
        The aligner whose posteriors are learned. Default: an aligner that is learned from the bitext.
    units : int
        Size of the attention layer.
    workers : int, optional
        Threads or processes; the parameters do not depend on it.
    progress : bool or callable
        Show progress after each pass, as a bar of tqdm in a notebook or on stderr. A function is called with
        a :class:`Progress` instead.
    languages : (str, str), optional
        Source and target language. Default: the languages that the folder of the vectors names.
    tokenizer, lowercase, unicode : optional
        How lines become tokens, as in :func:`load`. Default: the setting of the vectors, else
        space-separated words in lower case.
    limit : int, optional
        Read only the first `limit` vectors of each file.
    unsafe_pickle : bool
        Let pickled vectors run code; only for files that you trust.
    strip_prefix : str or (str, str), optional
        As in :func:`load`.

    Raises
    ------
    UsageError
        If the score does not exist, or the number of units is not an integer from 1.
    DataError
        If no pair has words on both sides, or no word of a side has a vector.

    Examples
    --------
    >>> import nmtalign as na
    >>> bitext = [("the black cat", "le chat noir"), ("the white dog", "le chien blanc")] * 20
    >>> learned = na.learn_attention(bitext, "en_fr_vectors", model=na.load(), units=16)
    >>> na.load("en_fr_vectors", score=learned.score).align("the cat", "le chat").links
    [Link(source=0, target=0), Link(source=1, target=1)]
    """
    words_of_lines = WordSettings(tokenizer, lowercase, unicode)
    files = VectorFileSettings(limit=limit, unsafe_pickle=unsafe_pickle, strip_prefix=strip_prefix)
    attention = AttentionSettings(score=score, units=units)
    check_type(model, (Aligner, str, Path, type(None)), "an aligner, or the folder of a model")
    reporter = open_reporter(progress, stage="learning")
    workers = default_workers(workers)
    if languages is not None:
        check_languages(languages)
    elif isinstance(vectors, str | Path) and not is_static_model(resolve_path(vectors)):
        languages = pair_languages(resolve_path(vectors))
    source_vectors, target_vectors = open_vectors(vectors, languages, files=files)
    student = aligner_over_vectors(source_vectors, target_vectors, "dot", GivenVectorsSettings(), languages)
    student = replace(student, text_settings=student.text_settings.updated(words_of_lines))
    pairs = list(check_pairs(bitext, source=source, target=target))
    words = [student.words_of(pair) for pair in pairs]
    job = TrainingJob(text_settings=student.text_settings, settings=TrainingSettings(workers=workers))
    teacher, teacher_name = _teacher(model, pairs, words, job)

    chosen = _choose_pairs(words)
    student_text = encode_text([words[n] for n in chosen])
    _warn_about_coverage(student, student_text, "vectors")
    known = _known_vectors(student, student_text)
    # the teacher gets the student's tokens, but looks them up in its own forms
    teacher_text = encode_text([teacher.words_of(student.tokens_of(pairs[n])) for n in chosen])
    _warn_about_coverage(teacher, teacher_text, "model")

    parts = _teacher_parts(teacher, student_text, teacher_text, workers)
    if len(parts) == 1:
        warn_caller("too few pairs to hold any out: the reported loss is the training loss")
    dimension = known[0].shape[1]
    norms = float(vector_norms(known[0]).mean()), float(vector_norms(known[1]).mean())
    initial = PARAMETER_CLASSES[attention.score].init(dimension, attention.units, norms)
    learned, loss = learn_parameters(initial, known, parts, workers=workers, report=reporter.step)
    reporter.finish(f"attention learned from {with_plural(len(chosen), 'pair')}")
    about = {
        "score": score,
        "units": units,
        "pairs": len(chosen),
        "aligner": teacher_name,
        "held-out loss": round(loss, 4),
    }
    null = teacher.positions.without_rescorer.null_probability
    if null is None:
        null = DEFAULT_NULL
    arrays = {**learned._asdict(), "null_probability": np.asarray(np.float64(null))}
    return LearnedAttention(name=score, arrays=arrays, about=about)


def _teacher(
    model: Aligner | str | Path | None,
    pairs: Sequence[Pair],
    words: Sequence[Pair],
    job: TrainingJob,
) -> tuple[Aligner, str]:
    """Return the aligner to learn from, and a name for it."""
    if model is None:
        return train_aligner(words, job).aligner, "learned from the same text"
    if isinstance(model, str | Path):
        return load_aligner(model), Path(model).name
    return fit_text(model, pairs)[0], model.scorer.description


def _choose_pairs(words: Sequence[Pair]) -> list[int]:
    """Return the numbers of pairs to learn from: evenly spread, none with an empty or a long side."""
    usable = []
    for n, pair in enumerate(words):
        if all(0 < len(side) <= MAX_LEARNING_WORDS for side in pair):
            usable.append(n)
    if not usable:
        raise DataError(
            f"expected sentence pairs of 1 to {MAX_LEARNING_WORDS} words per side to learn from, found none"
        )
    count = min(len(usable), MAX_LEARNING_PAIRS)
    places = np.linspace(0, len(usable) - 1, count).round().astype(int)
    return [usable[k] for k in places]


def _warn_about_coverage(aligner: Aligner, text: EncodedText, what: str) -> None:
    """Warn if so few words of a text are known that little can be learned from it."""
    if why := aligner.scorer.coverage_of(text.source, text.target, text.sections).warning:
        warn_caller(f"{what}: {why}")


def _known_vectors(student: Aligner, text: EncodedText) -> tuple[Reals, Reals]:
    """Return the vectors of the source and target words of a text; 0 for a word without one."""
    scores: Any = student.scorer.score_text(text)
    # the first parts are as long as the vectors
    source = scores.keys[:, 0]
    target = scores.queries[:, 0]
    for name, side in (("source", source), ("target", target)):
        if not side.any():
            raise DataError(f"no {name} word of the text has a vector; are the languages swapped?")
    return source.astype(np.float32), target.astype(np.float32)


def _teacher_parts(
    teacher: Aligner, student_text: EncodedText, teacher_text: EncodedText, workers: int
) -> list[TeacherPart]:
    """Return the pairs of a text, numbered as the student does, with the posteriors of the teacher."""
    bucket_posteriors = teacher.positions.posteriors_of(teacher.scorer.score_text(teacher_text))

    def parts_of_bucket(k: int) -> list[TeacherPart]:
        return list(teacher_parts(student_text.buckets[k], bucket_posteriors(k)))

    numbers = range(len(student_text.buckets))  # texts of equal lengths have the same buckets
    return list(
        chain.from_iterable(parallel_map(parts_of_bucket, numbers, workers, work=student_text.cell_count))
    )

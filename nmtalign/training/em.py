"""Expectation-maximization: iterations of IBM model 1, then of a hidden Markov model, in both directions.

Dempster, Laird and Rubin (1977); Brown et al. (1993), model 1; Vogel, Ney and Tillmann (1996); Liang, Taskar
and Klein (2006).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nmtalign.arrays import Doubles, Floats, Longs
from nmtalign.corpus.parallel import default_workers, parallel_map
from nmtalign.corpus.text import EncodedText, encode_text
from nmtalign.corpus.word_pairs import SHARED_NUMBER, WordPairIndex, index_word_pairs
from nmtalign.errors import DataError
from nmtalign.files.paths import reraise_as_data_error
from nmtalign.positions.e_step import MIN_LINK_COUNT, EStep, ExpectedCounts, expected_counts
from nmtalign.positions.jumps import (
    BothJumpModels,
    JumpModel,
    add_width_counts,
    estimate_jump_model,
    initial_jump_model,
)
from nmtalign.scorers.dictionary_phrases import Phrases
from nmtalign.scorers.forms import (
    FormKind,
    FormPairCounts,
    FormPairs,
    form_pair_counts,
    make_form_pairs,
    short_words,
)
from nmtalign.scorers.lexicon import Lexicon, StoredForms, stored_forms
from nmtalign.scorers.likelihood_ratios import Smoothing, TextFormCounts, emission_ratios
from nmtalign.state import Stored
from nmtalign.training.checkpoint import ArrayItems, Checkpoint
from nmtalign.training.prior import FormPrior, Prior, form_prior

Counts = TypeVar("Counts")  # the expected counts of an estimator

# floor of the likelihood ratios in model 1; that of the hidden Markov model is `Hyperparameters.floor`
MODEL1_FLOOR = MIN_LINK_COUNT
LEMMA_LETTERS = 6  # lemmas replace the form of this many letters
MAX_JUMP_CELLS = 1 << 22  # in a larger bitext, jumps are counted in every n-th bucket


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of training."""

    # letters of the forms of words, as in :func:`nmtalign.scorers.forms.prefix_slice`; a side of short words
    # has other forms
    forms: tuple[int, ...] = (0, 3, 4, 6)
    short_forms: tuple[int, ...] = (0, 1, 4, -1)
    lemmas: tuple[str | None, str | None] = (None, None)  # languages of the lemmas that are forms
    # E-steps of IBM model 1: the uniform step, which is not called an iteration in reports, and the
    # iterations after it
    model1_iterations: int = 4
    # number of these iterations that count the mean of both posteriors, as the uniform step always does;
    # later ones count the product
    mean_iterations: int = 1
    hmm_iterations: int = 3  # E-steps of the hidden Markov model
    # number of last iterations that have agreement by posterior regularization in the E-step
    agreed_iterations: int = 1
    pseudo_count: float = 4.0  # added to the count of each word, so that rare words do not attract links
    # added to the likelihood ratio of each pair of forms, in the hidden Markov model and the finished lexicon
    floor: float = 5e-4
    # probability of the null word in model 1 and in the hidden Markov model
    model1_null: float = 0.03
    null: float = 0.06
    lexicalized_words: int = 200  # this many frequent words have jump distributions of their own
    spelling: float = 1.0  # prior count of two identical words; similar words have less
    prune: float = 1e-3  # smaller counts are dropped at the end
    spectral_weight: float = 0.0  # weight of the spectral scorer in the mixture; 0 makes none
    seed: int = 0  # seed of the spectral scorer and of a rescorer; nothing else is random

    def forms_of_side(self, side: int, *, is_short: bool) -> list[FormKind]:
        """Return the kinds of form of a side (0 or 1); a side of short words has no lemmas."""
        language = self.lemmas[side]
        if is_short:
            return list(self.short_forms)
        if language is None:
            return list(self.forms)
        return [language if letters == LEMMA_LETTERS else letters for letters in self.forms]

    def with_lemmas(self, languages: tuple[str | None, str | None]) -> Hyperparameters:
        """Return the settings with lemmas in place of the form of six letters, on sides with a language.

        If there is no such form, lemmas are added.
        """
        if languages == (None, None):
            return self
        settings = replace(self, lemmas=languages)
        if LEMMA_LETTERS not in self.forms:
            settings = replace(
                settings, forms=(*self.forms, LEMMA_LETTERS), short_forms=(*self.short_forms, -1)
            )
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        values = asdict(self) | {
            name: list(getattr(self, name)) for name in ("forms", "short_forms", "lemmas")
        }
        if self.lemmas == (None, None):
            del values["lemmas"]
        return values


PRESET_HYPERPARAMETERS = {
    "fast": Hyperparameters(
        forms=(0, 4),
        short_forms=(0, 1),
        model1_iterations=3,
        hmm_iterations=2,
        agreed_iterations=0,
    ),
    "default": Hyperparameters(spectral_weight=0.4),
}


class Estimate(NamedTuple):
    """The parameters that EM has estimated, for the words and word pairs of the training text."""

    form_counts: TextFormCounts
    jump_models: BothJumpModels
    lexicon: Lexicon


class EMState(NamedTuple, Generic[Counts]):
    """The state of training after some iterations of model 1, and then of the hidden Markov model."""

    counts: Counts
    jump_models: BothJumpModels
    model1_iterations: int  # E-steps of model 1 that are done, the uniform step included
    hmm_iterations: int


class EMIterations(ABC, Generic[Counts]):
    """The iterations of expectation-maximization over a text, wherever its word pairs are counted.

    There are two kinds: :class:`Estimator` counts in memory, and
    :class:`~nmtalign.training.partitioned.PartitionedEstimator` in parts of the text, on disk or on a
    cluster. `Counts` is the type of their expected counts.
    """

    # the numbers of the word pairs of the text; None where they are not known as a whole
    complete_word_pairs: WordPairIndex | None = None

    def __init__(
        self,
        text: EncodedText,
        form_pairs: list[FormPairs],
        hyperparameters: Hyperparameters,
        report: Callable[[str], None],
    ) -> None:
        self.text = text
        self.source = text.source
        self.target = text.target
        self.vocabulary_sizes = len(text.source.words), len(text.target.words)
        self.form_pairs = form_pairs  # one entry for each kind of form
        self.hyperparameters = hyperparameters
        self.report = report
        self.prior = Prior()
        self.form_priors: list[FormPrior] = []  # one entry for each kind of form; empty without a prior

    # --- what depends on the kind of counts ------------------------------------------------------

    @abstractmethod
    def _no_counts(self) -> Counts:
        """Return counts of 0."""

    @abstractmethod
    def _e_step(self, step: EStep) -> Counts:
        """Return the expected counts of the uniform step, an E-step without emissions."""

    @abstractmethod
    def _next_counts(self, counts: Counts, floor: float, step: EStep) -> Counts:
        """Return the expected counts after these: the M-step of the lexicon, then an E-step.

        `step` is an E-step without emissions, which the M-step computes from `counts` and `floor`.
        """

    @abstractmethod
    def _counts_without_pairs(self, counts: Counts) -> ExpectedCounts:
        """Return the counts of single words and of jumps; those of word pairs may be missing."""

    @abstractmethod
    def _form_counts_of(self, counts: Counts) -> TextFormCounts:
        """Return the counts of forms, and of their pairs if these are in memory, with the prior added."""

    @abstractmethod
    def _stored_forms(self, counts: Counts, pruned: Sequence[FormPairCounts]) -> list[StoredForms]:
        """Return the counts that the lexicon keeps, for each kind of form, from those without small ones."""

    @abstractmethod
    def _arrays_of_counts(self, counts: Counts) -> ArrayItems:
        """Yield the arrays of counts, with their names."""

    @abstractmethod
    def _counts_from_checkpoint(self, stored: Stored) -> Counts:
        """Return the counts of :meth:`_arrays_of_counts`; a DataError if they do not fit."""

    # --- iterations ------------------------------------------------------------------------------

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        self.prior = prior or Prior()
        self.form_priors = []
        if prior is not None:
            self.form_priors = [form_prior(form_pairs, prior) for form_pairs in self.form_pairs]

    def run(self, checkpoint: Checkpoint | None = None) -> Estimate:
        """Run all EM iterations, or those after the checkpoint, and return the estimate."""
        state = None if checkpoint is None else self._resume(checkpoint)
        if state is None:
            state = self._initial_state()
        settings = self.hyperparameters
        while state.hmm_iterations < settings.hmm_iterations or self._is_of_model1(state):
            self._write_if_due(checkpoint, state)
            try:
                iterate = self._model1_iteration if self._is_of_model1(state) else self._hmm_iteration
                state = iterate(state)
            except KeyboardInterrupt:
                if checkpoint is not None:
                    # keep what the last checkpoint lacks: it may be SECONDS_BETWEEN_CHECKPOINTS old
                    checkpoint.write(partial(self._as_arrays, state))
                raise
        self._write_if_due(checkpoint, state)
        return self._estimate(state)

    def _estimate(self, state: EMState[Counts]) -> Estimate:
        """Return the estimate of the last iteration; very small counts are dropped."""
        form_counts = self._form_counts_of(state.counts)
        pruned = [self._pruned(counts) for counts in form_counts.counts]
        lexicon = self._lexicon(self._stored_forms(state.counts, pruned))
        return Estimate(form_counts._replace(counts=pruned), state.jump_models, lexicon)

    def _is_of_model1(self, state: EMState[Counts]) -> bool:
        """Return whether the next iteration is one of model 1."""
        return state.model1_iterations < self.hyperparameters.model1_iterations

    @property
    def smoothing(self) -> Smoothing:
        """Constants of the likelihood ratios of this bitext."""
        corpus_size = math.sqrt(len(self.source.tokens) * len(self.target.tokens))
        if self.prior.lexicon is not None:
            corpus_size += self.prior.lexicon.smoothing.corpus_size
        return Smoothing(
            corpus_size=max(corpus_size, 1.0),
            pseudo_count=self.hyperparameters.pseudo_count,
            floor=self.hyperparameters.floor,
        )

    def _initial_state(self) -> EMState[Counts]:
        """Return counts of uniform links with initial jump models, or none with those of an older model."""
        older = self.prior.renumbered_jump_models(self.source, self.target)
        if older is not None:
            # The older model needs no iterations of model 1. Its counts are a prior, which every M-step adds
            # to the expected counts: with zero counts of this text, the first emissions are those of the
            # older model.
            done = self.hyperparameters.model1_iterations
            return EMState(self._no_counts(), older, model1_iterations=done, hmm_iterations=0)
        settings = self.hyperparameters
        counts = self._e_step(EStep(settings.model1_null))
        source_model = initial_jump_model(len(self.source.words) - 1, settings.lexicalized_words)
        target_model = initial_jump_model(len(self.target.words) - 1, settings.lexicalized_words)
        return EMState(counts, (source_model, target_model), model1_iterations=1, hmm_iterations=0)

    def _model1_iteration(self, state: EMState[Counts]) -> EMState[Counts]:
        """Run one iteration of model 1: M-step and E-step."""
        settings = self.hyperparameters
        number = state.model1_iterations  # the uniform step is not numbered
        step = EStep(settings.model1_null, mean=number <= settings.mean_iterations)
        counts = self._next_counts(state.counts, MODEL1_FLOOR, step)
        self.report(f"model 1, iteration {number} of {settings.model1_iterations - 1}")
        return state._replace(counts=counts, model1_iterations=number + 1)

    def _hmm_iteration(self, state: EMState[Counts]) -> EMState[Counts]:
        """Run one iteration: M-step of the emissions, E-step, M-step of the jump models."""
        settings = self.hyperparameters
        number = state.hmm_iterations + 1
        agree = number > settings.hmm_iterations - settings.agreed_iterations
        step = EStep(
            settings.null, jump_models=state.jump_models, agree=agree, jump_period=self._jump_period()
        )
        counts = self._next_counts(state.counts, settings.floor, step)
        of_words_and_jumps = self._counts_without_pairs(counts)
        forward_jumps = of_words_and_jumps.forward_jumps
        reverse_jumps = of_words_and_jumps.reverse_jumps
        older = self.prior.jump_counts()
        if older is not None:
            forward_jumps = forward_jumps + older[0].ravel()
            reverse_jumps = reverse_jumps + older[1].ravel()
        if self.prior.jumps is not None:
            forward_jumps = add_width_counts(forward_jumps, self.prior.jumps[0], state.jump_models[0])
            reverse_jumps = add_width_counts(reverse_jumps, self.prior.jumps[1], state.jump_models[1])
        tokens = len(self.source.tokens) + len(self.target.tokens)
        per_word = of_words_and_jumps.log_likelihood / max(1, tokens)
        iteration = f"{number} of {settings.hmm_iterations}{', directions agree' if agree else ''}"
        likelihood = f"log-likelihood {per_word:.4f} per word above chance"
        self.report(f"hidden Markov model, iteration {iteration}: {likelihood}")
        source_model = estimate_jump_model(forward_jumps, state.jump_models[0])
        target_model = estimate_jump_model(reverse_jumps, state.jump_models[1])
        return state._replace(counts=counts, jump_models=(source_model, target_model), hmm_iterations=number)

    def _jump_period(self) -> int:
        """Return n, where jumps are counted in every n-th bucket: about `MAX_JUMP_CELLS` cells in all.

        It is odd: with an even period, one of two workers, which take every other bucket, would count the
        jumps of all these buckets.
        """
        period = max(1, math.ceil(self.text.cell_count / MAX_JUMP_CELLS))
        return period if period % 2 else period + 1

    def _lexicon(self, stored: list[StoredForms]) -> Lexicon:
        """Return the lexicon with the counts of each kind of form, with the prior added, and phrases."""
        if self.form_priors:
            stored = [prior.fill(forms) for prior, forms in zip(self.form_priors, stored, strict=True)]
        lexicon = Lexicon(
            source_words=self.source.words,
            target_words=self.target.words,
            source_counts=self.source.counts,
            target_counts=self.target.counts,
            counts_of_kinds=stored,
            smoothing=self.smoothing,
            spelling=self.hyperparameters.spelling,
        )
        return self._with_phrases(lexicon)

    def _with_phrases(self, lexicon: Lexicon) -> Lexicon:
        """Return a lexicon with the phrases of the prior that occur in the text, and of an older model."""
        older = None if self.prior.lexicon is None else self.prior.lexicon.phrases
        phrases = Phrases(self.prior.phrases, lexicon.phrase_kinds).occurring(self.text)
        entries = [*([] if older is None else older.entries), *phrases.entries]
        if not entries:
            return lexicon
        return replace(lexicon, phrases=replace(phrases, entries=list(dict.fromkeys(entries))))

    def _resume(self, checkpoint: Checkpoint) -> EMState[Counts] | None:
        """Return the state of a checkpoint; None without one, or if its arrays do not fit the bitext."""
        arrays = checkpoint.read()
        if arrays is None:
            return None
        # all arrays are in `packed`, so no file is looked up
        stored = Stored(checkpoint.path.parent, meta={}, packed=arrays, kinds={}, file=Path)
        try:
            with reraise_as_data_error(checkpoint.path):
                return self._from_checkpoint(stored)
        except DataError:
            # parts of another size have other ranges; a damaged file is rare
            why = "it was written with another `memory` or number of `workers`, or is damaged"
            self.report(f"the checkpoint does not fit, training starts anew: {why}")
            return None

    def _from_checkpoint(self, stored: Stored) -> EMState[Counts]:
        """Return the state that :func:`_as_arrays` gave as arrays; a DataError if they do not fit."""
        source_model = JumpModel.from_state(stored, "tables_0", "classes_0", len(self.source.words))
        target_model = JumpModel.from_state(stored, "tables_1", "classes_1", len(self.target.words))
        settings = self.hyperparameters
        model1_done = stored.array(
            "model1_done", "i", (), minimum=0, maximum=max(settings.model1_iterations, 1)
        )
        done = stored.array("done", "i", (), minimum=0, maximum=settings.hmm_iterations)
        counts = self._counts_from_checkpoint(stored)
        return EMState(counts, (source_model, target_model), int(model1_done), int(done))

    def _write_if_due(self, checkpoint: Checkpoint | None, state: EMState[Counts]) -> None:
        """Write the state to the checkpoint, if there is one and its last state is old enough."""
        if checkpoint is not None:
            checkpoint.write_if_due(partial(self._as_arrays, state))

    def _as_arrays(self, state: EMState[Counts]) -> ArrayItems:
        """Yield the arrays of a state of training, with their names."""
        yield from self._arrays_of_counts(state.counts)
        for k, model in enumerate(state.jump_models):
            yield f"tables_{k}", model.tables
            yield f"classes_{k}", model.classes
        yield "model1_done", np.array(state.model1_iterations)
        yield "done", np.array(state.hmm_iterations)

    def _pruned(self, counts: FormPairCounts) -> FormPairCounts:
        """Set very small counts to 0 in place; return the counts in the precision of the model folder."""
        counts.links[counts.links < self.hyperparameters.prune] = 0
        source, target = counts.sides
        return counts._replace(sides=(source.apply(_rounded), target.apply(_rounded)))


class Estimator(EMIterations[ExpectedCounts]):
    """Expectation-maximization over a text in memory, whose vocabularies have the words of the prior.

    `report` is called with a line of text now and after each iteration. The result does not depend on the
    workers.
    """

    def __init__(
        self,
        text: EncodedText,
        hyperparameters: Hyperparameters,
        *,
        prior: Prior | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.workers = default_workers(workers)
        self.word_pairs = index_word_pairs(text.buckets, text.source, text.target, self.workers)
        self.complete_word_pairs = self.word_pairs if self.word_pairs.complete else None
        make_pairs = partial(
            make_form_pairs, text.source, text.target, self.word_pairs, spelling=hyperparameters.spelling
        )
        form_kinds = form_kinds_of_text(text, hyperparameters, prior)
        # the forms of a large bitext take much memory, so they are made one kind after the other
        form_workers = self.workers if self.word_pairs.complete else 1
        form_pairs = list(parallel_map(make_pairs, form_kinds, form_workers))
        super().__init__(text, form_pairs, hyperparameters, report or (lambda line: None))
        self.set_prior(prior)
        self.report(
            f"{len(text.source.words) - 1:,} source and {len(text.target.words) - 1:,} target words,"
            f" {len(self.word_pairs) - 1:,} co-occurring word pairs"
        )

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        super().set_prior(prior)
        self.prior_counts: list[tuple[Longs, Floats]] = []  # the counts of the pairs of forms of the text
        if self.form_priors:
            for of_kind, form_pairs in zip(self.form_priors, self.form_pairs, strict=True):
                # looked up once, because every iteration adds them
                self.prior_counts.append(of_kind.counts_of(form_pairs))

    def _no_counts(self) -> ExpectedCounts:
        return ExpectedCounts.zeros(len(self.word_pairs), self.vocabulary_sizes, None)

    def _e_step(self, step: EStep) -> ExpectedCounts:
        counts = expected_counts(step, self.text, self.word_pairs, self.workers)
        if not self.word_pairs.complete:
            counts.links[SHARED_NUMBER] = 0  # pairs that share a number have no counts
        return counts

    def _next_counts(self, counts: ExpectedCounts, floor: float, step: EStep) -> ExpectedCounts:
        emissions = emission_ratios(self._form_counts_of(counts).with_floor(floor), self.workers)
        return self._e_step(step._replace(emissions=emissions))

    def _counts_without_pairs(self, counts: ExpectedCounts) -> ExpectedCounts:
        return counts

    def _form_counts_of(self, counts: ExpectedCounts) -> TextFormCounts:
        form_counts = form_pair_counts(
            self.form_pairs, self.word_pairs, counts.links, counts.source_null, counts.target_null
        )
        if self.form_priors:
            kinds = zip(self.form_priors, self.prior_counts, form_counts, strict=True)
            form_counts = [prior.add_to(added, learned) for prior, added, learned in kinds]
        return TextFormCounts(self.form_pairs, form_counts, self.smoothing)

    def _stored_forms(self, counts: ExpectedCounts, pruned: Sequence[FormPairCounts]) -> list[StoredForms]:
        return list(map(stored_forms, self.form_pairs, pruned))

    def _arrays_of_counts(self, counts: ExpectedCounts) -> ArrayItems:
        for name, values in counts._asdict().items():
            yield name, np.asarray(values)

    def _counts_from_checkpoint(self, stored: Stored) -> ExpectedCounts:
        return counts_from_arrays(stored, self.vocabulary_sizes, len(self.word_pairs))


def learn_lexicon(pairs: Iterable[tuple[Sequence[str], Sequence[str]]]) -> Lexicon:
    """Learn a lexicon from pairs of normalized words."""
    return Estimator(encode_text(pairs), Hyperparameters()).run().lexicon


def counts_from_arrays(stored: Stored, words: tuple[int, int], word_pairs: int) -> ExpectedCounts:
    """Return expected counts that were stored; a DataError if they are of other numbers of words or pairs."""
    source_words, target_words = words
    return ExpectedCounts(
        links=stored.array("links", "f", (word_pairs,), minimum=0),
        source_null=stored.array("source_null", "f", (source_words,), minimum=0),
        target_null=stored.array("target_null", "f", (target_words,), minimum=0),
        # the jump models have been estimated from the jumps, which are not needed again
        forward_jumps=np.zeros(0),
        reverse_jumps=np.zeros(0),
        log_likelihood=float(stored.array("log_likelihood", "f", ())),
    )


def _rounded(values: Doubles) -> Doubles:
    """Return values rounded to single precision."""
    return values.astype(np.float32).astype(np.float64)


def form_kinds_of_text(
    text: EncodedText, hyperparameters: Hyperparameters, prior: Prior | None
) -> list[tuple[FormKind, FormKind]]:
    """Return the kinds of form of both sides; the words of an older model determine them."""
    source_words = text.source.words
    target_words = text.target.words
    older = None if prior is None else prior.lexicon
    if older is not None:
        source_words = older.source_words
        target_words = older.target_words
    source_kinds = hyperparameters.forms_of_side(0, is_short=short_words(source_words))
    target_kinds = hyperparameters.forms_of_side(1, is_short=short_words(target_words))
    return list(zip(source_kinds, target_kinds, strict=True))

"""Expectation-maximization: iterations of IBM model 1, then of a hidden Markov model, in both directions.

Dempster, Laird and Rubin (1977); Brown et al. (1993), model 1; Vogel, Ney and Tillmann (1996); Liang, Taskar
and Klein (2006).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from nmtalign.corpus.parallel import default_workers, parallel_map
from nmtalign.corpus.text import EncodedText
from nmtalign.corpus.word_pairs import SHARED_NUMBER, PairIndex, index_pairs
from nmtalign.errors import DataError
from nmtalign.files.read_errors import reraise_as_data_error
from nmtalign.positions.e_step import MIN_LINK_COUNT, EStep, ExpectedCounts, expected_counts
from nmtalign.positions.hmm import BothTransitions, TransitionModel, estimate_transitions, initial_transitions
from nmtalign.scorers.forms import FormKind, FormPairs, make_form_pairs, short_words
from nmtalign.scorers.learned_lexicon import (
    CountedForms,
    FormPairCounts,
    Lexicon,
    Smoothing,
    emission_ratios,
    form_pair_counts,
    stored_forms,
)
from nmtalign.state import Stored
from nmtalign.training.checkpoint import Checkpoint, CheckpointArrays
from nmtalign.training.prior import Prior, form_prior
from nmtalign.validation import check_choice

LEMMA_LETTERS = 6  # lemmas replace the form of so many letters
MAX_JUMP_CELLS = 1 << 22  # in a larger bitext, jumps are counted in every n-th bucket


@dataclass(frozen=True)
class Hyperparameters:
    """Hyperparameters of training."""

    # letters of the forms of words, as in :func:`nmtalign.scorers.forms.prefix_slice`; a side of short words
    # has other forms
    forms: tuple[int, ...] = (0, 3, 4, 6)
    short_forms: tuple[int, ...] = (0, 1, 4, -1)
    lemmas: tuple[str | None, str | None] = (None, None)  # languages of the lemmas that are forms
    # EM iterations of IBM model 1, the first with uniform probabilities, and of the hidden Markov model
    model1_iterations: int = 4
    # so many iterations of model 1 count the mean of both posteriors; later ones count the product
    mean_iterations: int = 1
    hmm_iterations: int = 3
    # so many of the last iterations have agreement by posterior regularization in the E-step
    agreed_iterations: int = 1
    pseudo_count: float = 4.0  # added to the count of each word, so that rare words do not attract links
    floor: float = 5e-4  # minimum likelihood ratio of a pair of forms
    # probability of the null word in model 1 and in the hidden Markov model
    model1_null: float = 0.03
    null: float = 0.06
    lexicalized_words: int = 200  # so many frequent words have a transition distribution of their own
    spelling: float = 1.0  # prior count of two identical words; similar words have less
    prune: float = 1e-3  # smaller counts are dropped at the end
    spectral_weight: float = 0.0  # weight of the spectral scorer in the mixture; 0 makes none
    seed: int = 0  # of the spectral scorer and of a rescorer; nothing else is random

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
            forms, short_forms = (*self.forms, LEMMA_LETTERS), (*self.short_forms, -1)
            settings = replace(settings, forms=forms, short_forms=short_forms)
        return settings

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        values = asdict(self)
        values["forms"] = list(self.forms)
        values["short_forms"] = list(self.short_forms)
        values["lemmas"] = list(self.lemmas)
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


def preset_hyperparameters(name: str) -> Hyperparameters:
    """Return the settings of a preset by name; a UsageError lists the presets."""
    check_choice(name, PRESET_HYPERPARAMETERS, "presets")
    return PRESET_HYPERPARAMETERS[name]


class CountingBitext(Protocol):
    """A bitext that computes expected counts, in this process or in others."""

    index: PairIndex

    def expected_counts(self, step: EStep) -> ExpectedCounts:
        """Return the expected counts of one E-step."""


BitextFactory = Callable[[EncodedText], CountingBitext]


class LocalBitext:
    """A bitext in this process."""

    def __init__(self, text: EncodedText, *, workers: int) -> None:
        self.text, self.workers = text, workers
        self.index = index_pairs(text.buckets, text.source, text.target, workers)

    def expected_counts(self, step: EStep) -> ExpectedCounts:
        """Return the expected counts of one E-step; they do not depend on the number of workers."""
        return expected_counts(step, self.text, self.index, self.workers)


class Estimate(NamedTuple):
    """The parameters that EM has estimated, for the words and word pairs of the training text."""

    counted: CountedForms
    transitions: BothTransitions
    lexicon: Lexicon


class Estimator:
    """Expectation-maximization over a text, whose vocabularies have the words of the prior.

    `report` is called with a line of text after each iteration. `make_bitext` makes a :class:`CountingBitext`
    of the text; a :class:`LocalBitext` if left out. The result does not depend on the workers.
    """

    def __init__(
        self,
        text: EncodedText,
        hyperparameters: Hyperparameters,
        *,
        prior: Prior | None = None,
        workers: int | None = None,
        report: Callable[[str], None] | None = None,
        make_bitext: BitextFactory | None = None,
    ) -> None:
        self.text, self.hyperparameters = text, hyperparameters
        self.source, self.target = source, target = text.source, text.target
        self.prior = prior or Prior()
        self.report = report or (lambda text: None)
        self.workers = default_workers(workers)
        self.bitext = LocalBitext(text, workers=self.workers) if make_bitext is None else make_bitext(text)
        self.index = self.bitext.index
        make = partial(make_form_pairs, source, target, self.index, spelling=hyperparameters.spelling)
        several = self.workers if self.index.complete else 1  # the forms of a large bitext take much memory
        self.forms: list[FormPairs] = list(parallel_map(make, self._letters(), several))
        self.set_prior(prior)
        self.report(
            f"{len(source.words) - 1:,} source and {len(target.words) - 1:,} target words,"
            f" {len(self.index) - 1:,} co-occurring word pairs"
        )

    def set_prior(self, prior: Prior | None) -> None:
        """Replace the prior, whose words the vocabularies contain."""
        self.prior = prior or Prior()
        self.form_priors = [form_prior(form_pairs, self.prior) for form_pairs in self.forms] if prior else []
        # looked up once, because every iteration adds them
        both = zip(self.form_priors, self.forms, strict=False)  # without a prior, no form has one
        self.prior_counts = [of_kind.counts_of(form_pairs) for of_kind, form_pairs in both]

    def _letters(self) -> list[tuple[FormKind, FormKind]]:
        """Return the letters of each kind of form; an older model determines them."""
        older, settings = self.prior.lexicon, self.hyperparameters
        words = self.source.words, self.target.words
        if older is not None:
            words = older.source_words, older.target_words
        source_forms = settings.forms_of_side(0, is_short=short_words(words[0]))
        target_forms = settings.forms_of_side(1, is_short=short_words(words[1]))
        return list(zip(source_forms, target_forms, strict=True))

    def run(self, checkpoint: Checkpoint | None = None) -> Estimate:
        """Run all EM iterations, or those after the checkpoint, and return the estimate."""
        resumed = None if checkpoint is None else self._resumed(checkpoint)
        if resumed is None:
            counts, transitions = self._initial()
            done = 0
        else:
            counts, transitions, done = resumed
        last = self.hyperparameters.hmm_iterations
        for number in range(done, last + 1):
            if checkpoint is not None:
                checkpoint.write_if_due(partial(_as_arrays, counts, transitions, number))
            if number < last:
                counts, transitions = self._hmm_iteration(counts, transitions, number + 1)
        counted = self._counted(counts)
        pruned = [self._pruned(of_forms) for of_forms in counted.counts]
        stored = [stored_forms(*pair) for pair in zip(self.forms, pruned, strict=True)]
        if self.form_priors:
            stored = [prior.fill(forms) for prior, forms in zip(self.form_priors, stored, strict=True)]
        words = self.source.words, self.target.words, self.source.counts, self.target.counts
        lexicon = Lexicon(*words, stored, self.smoothing, self.hyperparameters.spelling)
        return Estimate(counted._replace(counts=pruned), transitions, lexicon)

    def _resumed(self, checkpoint: Checkpoint) -> tuple[ExpectedCounts, BothTransitions, int] | None:
        """Return the state of a checkpoint; None without one, or if its arrays do not fit the bitext."""
        arrays = checkpoint.read()
        if arrays is None:
            return None
        state = Stored(checkpoint.path.parent, meta={}, packed=arrays, kinds={}, file=Path)
        try:
            with reraise_as_data_error(checkpoint.path):
                return self._from_checkpoint(state)
        except DataError:
            return None  # as with a damaged file, the work is done again

    def _from_checkpoint(self, state: Stored) -> tuple[ExpectedCounts, BothTransitions, int]:
        """Return the state that :func:`_as_arrays` gave as arrays; a DataError if they do not fit."""
        words = len(self.source.words), len(self.target.words)
        first, second = (
            TransitionModel.from_state(state, f"tables_{k}", f"classes_{k}", words[k]) for k in (0, 1)
        )
        counts = ExpectedCounts(
            state.array("pairs", "f", (len(self.index),), minimum=0),
            state.array("source_null", "f", (words[0],), minimum=0),
            state.array("target_null", "f", (words[1],), minimum=0),
            forward_jumps=np.zeros(0),  # what they gave is in the transitions
            reverse_jumps=np.zeros(0),
            log_likelihood=float(state.array("log_likelihood", "f", ())),
        )
        done = state.array("done", "i", (), minimum=0, maximum=self.hyperparameters.hmm_iterations)
        return counts, (first, second), int(done)

    @property
    def smoothing(self) -> Smoothing:
        """Constants of the likelihood ratios of this bitext."""
        size = math.sqrt(len(self.source.tokens) * len(self.target.tokens))
        if self.prior.lexicon is not None:
            size += self.prior.lexicon.smoothing.words
        return Smoothing(max(size, 1.0), self.hyperparameters.pseudo_count, self.hyperparameters.floor)

    def _initial(self) -> tuple[ExpectedCounts, BothTransitions]:
        """Return the counts of model 1 and initial transitions, or the transitions of an older model."""
        older = self.prior.renumbered_transitions(self.source, self.target)
        if older is not None:
            words = len(self.source.words), len(self.target.words)
            return ExpectedCounts.zeros((len(self.index), *words), ()), older
        settings = self.hyperparameters
        counts = self._e_step(EStep(settings.model1_null))
        for number in range(1, settings.model1_iterations):
            counted = self._counted(counts)
            smoothing = counted.smoothing._replace(floor=MIN_LINK_COUNT)
            ratios = emission_ratios(counted._replace(smoothing=smoothing), self.workers)
            mean = number <= settings.mean_iterations
            counts = self._e_step(EStep(settings.model1_null, ratios, mean=mean))
            self.report(f"model 1, iteration {number} of {settings.model1_iterations - 1}")
        sizes = len(self.source.words) - 1, len(self.target.words) - 1
        first, second = (initial_transitions(size, settings.lexicalized_words) for size in sizes)
        return counts, (first, second)

    def _counted(self, counts: ExpectedCounts) -> CountedForms:
        nulls = counts.source_null, counts.target_null
        form_counts = form_pair_counts(self.forms, self.index, counts.pairs, *nulls)
        if self.form_priors:
            kinds = zip(self.form_priors, self.prior_counts, form_counts, strict=True)
            form_counts = [prior.add_to(added, learned) for prior, added, learned in kinds]
        return CountedForms(self.forms, form_counts, self.smoothing)

    def _hmm_iteration(
        self, counts: ExpectedCounts, transitions: BothTransitions, number: int
    ) -> tuple[ExpectedCounts, BothTransitions]:
        """M-step of the emissions, E-step, M-step of the transitions."""
        settings = self.hyperparameters
        emissions = emission_ratios(self._counted(counts), self.workers)
        agree = number > settings.hmm_iterations - settings.agreed_iterations
        # odd, so that two workers take turns with these buckets
        period = -(-self.text.cells // MAX_JUMP_CELLS) | 1
        counts = self._e_step(EStep(settings.null, emissions, transitions, agree=agree, jump_period=period))
        jumps = [counts.forward_jumps, counts.reverse_jumps]
        older = self.prior.jump_counts()
        if older is not None:
            jumps = [new + old.ravel() for new, old in zip(jumps, older, strict=True)]
        per_word = counts.log_likelihood / max(1, len(self.source.tokens) + len(self.target.tokens))
        iteration = f"{number} of {settings.hmm_iterations}{', directions agree' if agree else ''}"
        likelihood = f"log-likelihood {per_word:.4f} a word over chance"
        self.report(f"hidden Markov model, iteration {iteration}: {likelihood}")
        source_model = estimate_transitions(jumps[0], transitions[0])
        target_model = estimate_transitions(jumps[1], transitions[1])
        return counts, (source_model, target_model)

    def _e_step(self, step: EStep) -> ExpectedCounts:
        counts = self.bitext.expected_counts(step)
        if not self.index.complete:
            counts.pairs[SHARED_NUMBER] = 0
        return counts

    def _pruned(self, counts: FormPairCounts) -> FormPairCounts:
        """Set very small counts to 0 in place; return the counts in the precision of the model folder."""
        counts.pairs[counts.pairs < self.hyperparameters.prune] = 0
        source, target = (
            side.apply(lambda values: values.astype(np.float32).astype(np.float64)) for side in counts.sides
        )
        return counts._replace(sides=(source, target))


def _as_arrays(counts: ExpectedCounts, transitions: BothTransitions, done: int) -> CheckpointArrays:
    """Return the state of training after so many iterations of the hidden Markov model."""
    arrays: CheckpointArrays = {name: np.asarray(values) for name, values in counts._asdict().items()}
    for k, model in enumerate(transitions):
        arrays |= {f"tables_{k}": model.tables, f"classes_{k}": model.classes}
    return arrays | {"done": np.array(done)}

"""Experts: links beside a text, or an encoder that makes links.

In training the links are prior counts of word pairs, in decoding they vote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from nmtalign.door import expect_kind
from nmtalign.errors import DataError, UsageError
from nmtalign.links.alignments import AlignedBatch, Link, joined_batches
from nmtalign.links.given import batch_of_links
from nmtalign.positions.experts import Trust
from nmtalign.state import State, Stored
from nmtalign.text.bitext import Pair, SentencePair, Words

if TYPE_CHECKING:
    from nmtalign.aligner.links_from import Linker

METHOD = "simalign-argmax"  # of an encoder: few links, most of them right
BELOW_1 = 1 - 1e-12  # precision and recall of an expert that is always right are less
PAIRS = 500  # whose links an encoder makes at a time
COUNTED = 0.01  # least soft count of a cell; with 0.001 a prior has up to twice the pairs and is no better


class ExpertPair(SentencePair):
    """A sentence pair with the links that an expert gives."""

    links: frozenset[Link]


def with_links(
    pairs: Iterable[Pair],
    links: Iterable[frozenset[Link]],
    *,
    marked: bool = False,
    file: str | Path | None = None,
) -> Iterator[Any]:
    """Yield pairs with their links; a DataError if there are fewer or more links than pairs.

    `marked` says that pairs without any word stand for bad records, whose links are left out; `file` is the
    file of the links.
    """
    given, number = iter(links), 0
    for number, pair in enumerate(pairs, 1):
        own = next(given, None)
        if own is None:
            expected = "expected the links of the expert for each pair, an empty line where it has no opinion"
            raise _of_file(f"{expected}; found {number - 1:,} lines, and more pairs", file)
        found = ExpertPair(*cast(tuple[str, str], pair))  # or two lists of words
        found.links = frozenset() if marked and not any(pair) else own
        yield found
    if next(given, None) is not None:
        raise _of_file(f"expected the links of the expert for {number:,} pairs, found more lines", file)


def _of_file(text: str, file: str | Path | None) -> DataError:
    return DataError(text) if file is None else DataError(text).at(file)


@dataclass(frozen=True, eq=False, repr=False)
class EncoderLinks:
    """The links of an encoder, by a published method.

    Attributes
    ----------
    name : str
        Of an encoder of the package transformers, or its folder.
    encoder_options : mapping
        `layer`, `device`, `cache`, as in :func:`nmtalign.links_from`; and `download`.
    method : str
    """

    name: str
    encoder_options: dict[str, Any]
    method: str = METHOD

    @cached_property
    def _linker(self) -> Linker:
        from nmtalign.aligner.links_from import similarity_linker

        return similarity_linker("encoder", encoder=self.name, method=self.method, **self.encoder_options)

    @property
    def layer(self) -> int:
        """The layer whose states are compared."""
        from nmtalign.encoders.transformer import Encoder

        return int(self.encoder_options.get("layer", Encoder.layer))

    @property
    def resolved(self) -> str:
        """The name, or the whole path of a folder."""
        return str(Path(self.name).resolve()) if Path(self.name).is_dir() else self.name

    def __repr__(self) -> str:
        return f"encoder={self.name} layer={self.layer} method={self.method}"

    def check(self) -> None:
        """Open the encoder; a DataError or a UsageError says why there is none."""
        self.of([(["a"], ["a"])])

    def of(self, words: Iterable[tuple[Words, Words]]) -> AlignedBatch:
        """Return the links of pairs of words, each with probability 1."""
        return _certain(joined_batches([self._linker.align([]), *self._linker.batches(words)]))

    def counted(self, words: Iterable[tuple[Words, Words]]) -> tuple[AlignedBatch, AlignedBatch]:
        """Return the links of pairs of words, and soft counts of cells, from the same similarities.

        The count of two words is the greatest of :func:`nmtalign.encoders.published.soft_posteriors` of their
        sub-words.
        """
        from nmtalign.aligner.extraction import Threshold
        from nmtalign.encoders.published import soft_posteriors

        given = list(self._linker.read(words))
        soft = replace(self._linker, posteriors=soft_posteriors, extraction=Threshold(COUNTED))
        return _certain(self._linker.align(given)), soft.align(given)


def _certain(batch: AlignedBatch) -> AlignedBatch:
    return replace(batch, probability=np.ones_like(batch.probability))


@dataclass(frozen=True, eq=False, repr=False)
class Expert:
    """An expert, and how far it is to be trusted.

    Attributes
    ----------
    encoder : EncoderLinks, optional
        What makes the links; left out, pairs are given with theirs.
    trust : Trust, optional
        None before it is computed from a text.
    """

    encoder: EncoderLinks | None = None
    trust: Trust | None = None

    def __repr__(self) -> str:
        trust = "" if self.trust is None else " precision={:.3g} recall={:.3g}".format(*self.trust)
        return f"expert=({self.encoder or 'links'}{trust})"

    @property
    def of_tokens(self) -> bool:
        """Whether the links count tokens, not the words between spaces of lines."""
        return self.encoder is not None

    def links(self, pairs: Sequence[Pair], tokens_of: Callable[[Pair], tuple[Words, Words]]) -> AlignedBatch:
        """Return the links of pairs."""
        if self.encoder is None:
            return batch_of_links(getattr(pair, "links", ()) for pair in pairs)
        return self.encoder.of([tokens_of(pair) for pair in pairs])

    def counted(
        self, pairs: Sequence[Pair], tokens_of: Callable[[Pair], tuple[Words, Words]]
    ) -> tuple[AlignedBatch, ...]:
        """Return the links of pairs, and after them what counts word pairs if that is something else."""
        if self.encoder is None:
            return (self.links(pairs, tokens_of),)
        return self.encoder.counted(tokens_of(pair) for pair in pairs)

    def state(self) -> State:
        """Return the trust, and the encoder by its name."""
        assert self.trust is not None  # as a fitted aligner has
        values: dict[str, Any] = dict(self.trust._asdict())
        if (own := self.encoder) is not None:
            values |= {"encoder": own.resolved, "layer": own.layer, "method": own.method}
        return State("expert", values)

    @classmethod
    def from_state(cls, stored: Stored) -> Expert:
        """Return what :meth:`state` was made of; the encoder is opened when needed, never downloaded."""
        trust = Trust(*(stored.number(name, low=0, high=BELOW_1) for name in Trust._fields))
        if "encoder" not in stored.meta:
            return cls(None, trust)
        encoder_options = {"layer": stored.whole("layer", low=0, high=1000), "download": False}
        return cls(EncoderLinks(stored.text("encoder"), encoder_options, stored.text("method")), trust)


def choose_expert(
    older: Expert | None = None,
    *,
    given: bool = False,
    encoder: str | Path | None = None,
    **encoder_options: Any,
) -> Expert | None:
    """Return the expert that settings name.

    Parameters
    ----------
    older : Expert, optional
        That of the model; where it is the same encoder, it is trusted as it was.
    given : bool
        Whether pairs come with the links of an expert.
    encoder, **encoder_options
        As of :class:`EncoderLinks`; `encoder_options` alone is for the encoder of the model.

    Raises
    ------
    UsageError
        If there are both, or settings are for an encoder and there is none.
    """
    trust, own = (None, None) if older is None else (older.trust, older.encoder)
    if encoder is None:
        if encoder_options and (own is None or "layer" in encoder_options):
            raise UsageError(f"{', '.join(encoder_options)}: only with an encoder (`encoder=NAME`)")
        if own is not None and encoder_options:
            return Expert(replace(own, encoder_options=own.encoder_options | encoder_options), trust)
        return Expert() if given else older
    if given:
        raise UsageError("the links of an expert or an encoder: give one of both")
    expect_kind(encoder, (str, Path), "the name or folder of an encoder")
    found = EncoderLinks(str(encoder), encoder_options)
    found.check()
    same = own is not None and str(own) == str(replace(found, name=found.resolved))
    return Expert(found, trust if same else None)

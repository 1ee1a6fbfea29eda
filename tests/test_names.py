"""The names of choices are those of the library: each can be chosen, and there are no others."""

from __future__ import annotations

from nmtalign import names
from nmtalign.aligner.extraction_methods import EXTRACTION_CLASSES, Symmetrized
from nmtalign.cli.commands import links
from nmtalign.encoders.published import PUBLISHED_METHODS
from nmtalign.links import formats, symmetrization
from nmtalign.positions.position_model import SOFTMAX_POSITIONS
from nmtalign.text import readers, tokenization
from nmtalign.training.em import PRESET_HYPERPARAMETERS
from nmtalign.vectors import storage


def test_every_name_can_be_chosen_and_no_other():
    assert set(names.EXTRACTIONS) == EXTRACTION_CLASSES.keys() - {Symmetrized.name}
    assert names.SYMMETRIZATIONS == symmetrization.SYMMETRIZATION_METHODS
    assert tuple(PUBLISHED_METHODS) == names.METHODS
    assert (*SOFTMAX_POSITIONS, "hmm") == names.POSITIONS
    assert tuple(PRESET_HYPERPARAMETERS) == names.PRESETS
    assert set(names.TOKENIZERS) == {*tokenization.TOKENIZER_FACTORIES, "sentencepiece:FILE[,FILE]"}
    assert {*names.PAIR_FORMATS, "moses"} == set(readers.PAIR_FILE_FORMATS)  # moses is two files
    assert tuple(formats._READERS) == names.READ_LINKS
    assert set(names.WRITTEN_LINKS) == set(formats._WRITERS)
    assert tuple(links._PROJECTIONS) == names.TAG_FORMATS
    assert set(names.WRITTEN_VECTORS) < set(names.READ_VECTORS) == set(storage.READ_VECTORS)

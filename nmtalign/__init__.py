"""Word alignment from attention. This module is the one door; all behind it is imported when asked for."""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "load": "nmtalign.aligner.opening",
    "train": "nmtalign.aligner.train",
    "links_from": "nmtalign.aligner.links_from",
    "fit_to": "nmtalign.aligner.opening",
    "learn_attention": "nmtalign.aligner.fitting",
    "Aligner": "nmtalign.aligner.aligner",
    "read_bitext": "nmtalign.text.bitext",
    "Bitext": "nmtalign.text.bitext",
    "cut": "nmtalign.text.bitext",
    "align_on_cluster": "nmtalign.batch.cluster",
    "read_gold": "nmtalign.links.formats",
    "write_links": "nmtalign.links.given",
    "Link": "nmtalign.links.alignments",
    "Alignment": "nmtalign.links.alignments",
    "GoldAlignment": "nmtalign.links.alignments",
    "AlignmentMatrix": "nmtalign.links.alignments",
    "AlignedPair": "nmtalign.links.alignments",
    "AlignedBatch": "nmtalign.links.alignments",
    "write_report": "nmtalign.report.html",
    "SamplePair": "nmtalign.report.sample",
    "LinkCounts": "nmtalign.links.lexicon",
    "place_of": "nmtalign.door",
    "vector_aligner": "nmtalign.aligner.opening",
    "count_embeddings": "nmtalign.training.count_vectors",
    "Embeddings": "nmtalign.vectors.embeddings",
    "load_embeddings": "nmtalign.vectors.storage",
    "save_embeddings": "nmtalign.vectors.storage",
    "link_table": "nmtalign.report.tables",
    "draw_heatmap": "nmtalign.report.heatmap",
    "save_heatmaps": "nmtalign.report.heatmap",
    "show": "nmtalign.report.notebook",
    "evaluate": "nmtalign.links.evaluation",
    "Evaluation": "nmtalign.links.evaluation",
    "NmtalignError": "nmtalign.errors",
    "UsageError": "nmtalign.errors",
    "DataError": "nmtalign.errors",
}

_MODULES = {"attention": "nmtalign.attention", "_drawing": "nmtalign.report.notebook"}

__all__ = ["__version__", "attention", *_HOME]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME:
        raise AttributeError(f"module 'nmtalign' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

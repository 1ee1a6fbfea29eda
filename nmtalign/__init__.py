"""Word alignment from attention: the public interface, whose names are imported when they are used."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which the command line would import before it handles signals
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_NAMES_OF_MODULE = {
    "aligner.aligner": "Aligner",
    "aligner.attention_learning": "learn_attention",
    "aligner.opening": "fit_to load vector_aligner",
    "aligner.training_steps": "train",
    "applications.bilingual_lexicon": "lexicon",
    "applications.concordance": "find write_index",
    "applications.conversion": "convert",
    "applications.phrases": "phrases",
    "applications.projection": "project",
    "applications.terminology": "terms",
    "checks.checking": "check",
    "corpus.bitext_index": "open_index",
    "dictionaries.reading": "read_dictionary",
    "external.head_ranking": "rank_heads",
    "external.links_from": "links_from",
    "files.paths": "resolve_path",
    "errors": "NmtalignError UsageError DataError NmtalignWarning AdviceWarning",
    "links.alignments": "Link Alignment GoldAlignment AlignmentMatrix AlignedPair AlignedBatch",
    "decoding.batches": "concat open_batch",
    "links.evaluation": "evaluate Evaluation ThresholdCurve",
    "links.gold": "read_gold",
    "links.inputs": "write_links",
    "links.scoring": "Bootstrap ExpectedEvaluation",
    "links.selection": "symmetrize",
    "progress": "Progress",
    "report.heatmap": "draw_heatmap",
    "report.html": "show write_report",
    "report.drawing": "heatmap",
    "report.page_content": "SamplePair",
    "report.style": "save_heatmaps",
    "report.tables": "link_table",
    "run.cluster": "align_on_cluster",
    "scorers.dense": "count_embeddings",
    "text.bitext": "read_bitext Bitext",
    "text.chunks": "iter_chunks",
    "vectors.embeddings": "Embeddings",
    "vectors.storage": "load_embeddings save_embeddings",
    "versions": "show_versions",
}
_MODULE_OF_NAME = {
    name: f"nmtalign.{module}" for module, names in _NAMES_OF_MODULE.items() for name in names.split()
}

__all__ = ["__version__", "attention", *_MODULE_OF_NAME]


def __getattr__(name: str) -> Any:
    import importlib

    if name == "attention":
        return importlib.import_module("nmtalign.attention")
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF_NAME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)

"""Option groups of the command line: mypy has to reject each line that ends in ``# rejected``.

Nothing here is executed; `tests/test_misuses.py` reads what mypy says.
"""

from nmtalign.cli import model_options, running, texts
from nmtalign.cli.commands import (
    align_command,
    convert_command,
    demo_command,
    evaluate_command,
    find_command,
    heatmap_command,
    lexicon_command,
    report_command,
    serve_command,
    train_command,
    vectors_command,
)
from nmtalign.settings import PictureSettings, SourceSettings, TrainingSettings, WordSettings


def read_bitext(options: texts.BitextOptions, text: WordSettings, linked: texts.LinkedOptions) -> None:
    options.encoding.upper()
    options.encodin  # rejected
    options.pairs.upper()  # rejected
    text.lowercase
    text.lower  # rejected
    linked.text().links.upper()
    linked.links.upper()  # rejected
    linked.link  # rejected


def read_model(options: model_options.ModelOptions, source: SourceSettings) -> None:
    options.links.threshold
    options.links.treshold  # rejected
    options.threshold  # rejected
    options.vectors.score == "dot"
    options.vectors.score == "dots"  # rejected
    options.vectors.vectors
    options.vectors.vector  # rejected
    options.encoder.layer
    options.encoder.layers  # rejected
    options.model = "x"  # rejected
    source.matrices
    source.matrix  # rejected
    source.units == "subwords"
    source.units == "pieces"  # rejected


def read_running(engine: running.EngineOptions, shards: running.ShardOptions) -> None:
    engine.workers
    engine.worker  # rejected
    engine.engine == "dask"
    engine.engine == "spark"  # rejected
    shards.shard_pairs + 1
    shards.shard_pairs + "1"  # rejected
    shards.shards  # rejected


def read_align(outputs: align_command.AlignOutputOptions, errors: align_command.BadRecordOptions) -> None:
    outputs.output.upper()
    outputs.outptu  # rejected
    outputs.attention.upper()  # rejected
    outputs.values == "forward"
    outputs.values == "backward"  # rejected
    errors.on_error == "stop"
    errors.on_error == "skip"  # rejected
    errors.stict  # rejected


def read_train(outputs: train_command.OutputOptions, learning: TrainingSettings) -> None:
    outputs.force
    outputs.forced  # rejected
    learning.preset == "fast"
    learning.preset == "quick"  # rejected
    learning.priors  # rejected
    learning.sample
    learning.samples  # rejected
    learning.lemma  # rejected


def read_pictures(
    picture: PictureSettings,
    file: heatmap_command.PictureFileOptions,
    page: report_command.PageOptions,
    search: find_command.SearchOptions,
) -> None:
    picture.dpi + 1
    picture.dpis  # rejected
    picture.values == "all"
    picture.values == "parts"  # rejected
    file.values == "parts"
    file.values == "part"  # rejected
    page.output.upper()
    page.outptu  # rejected
    search.examples + 1
    search.side  # rejected
    search.limit.upper()  # rejected


def read_links(
    scored: evaluate_command.ScoredOptions,
    converted: convert_command.ConvertedLinksOptions,
    lexicon: lexicon_command.LexiconOptions,
) -> None:
    scored.gold_format == "naacl"
    scored.gold_format == "nacl"  # rejected
    scored.golds  # rejected
    converted.to == "giza"
    converted.to == "gisa"  # rejected
    lexicon.min_links
    lexicon.least  # rejected


def read_vectors(reading: vectors_command.ReadingOptions, counting: vectors_command.CountingOptions) -> None:
    reading.format == "fasttext"
    reading.format == "glove"  # rejected
    reading.limits  # rejected
    counting.dimension + 1
    counting.dimensions  # rejected


def read_others(served: serve_command.ServedOptions, results: demo_command.ResultsOptions) -> None:
    served.models  # rejected
    results.output.upper()
    results.out  # rejected

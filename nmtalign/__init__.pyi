"""The names of the package, for type checkers: at run time they are imported when they are asked for."""

from nmtalign import attention as attention
from nmtalign.aligner.aligner import Aligner as Aligner
from nmtalign.aligner.attention_learning import learn_attention as learn_attention
from nmtalign.aligner.fit_to_text import fit_to as fit_to
from nmtalign.aligner.learning import train as train
from nmtalign.aligner.links_from import links_from as links_from
from nmtalign.aligner.opening import load as load
from nmtalign.aligner.opening import vector_aligner as vector_aligner
from nmtalign.applications.bilingual_lexicon import lexicon as lexicon
from nmtalign.applications.concordance import find as find
from nmtalign.applications.phrases import phrases as phrases
from nmtalign.applications.projection import project as project
from nmtalign.batch.cluster import align_on_cluster as align_on_cluster
from nmtalign.checks.checking import check as check
from nmtalign.dictionaries.reading import read_dictionary as read_dictionary
from nmtalign.errors import DataError as DataError
from nmtalign.errors import NmtalignError as NmtalignError
from nmtalign.errors import UsageError as UsageError
from nmtalign.files.paths import resolve_path as resolve_path
from nmtalign.links.alignments import AlignedBatch as AlignedBatch
from nmtalign.links.alignments import AlignedPair as AlignedPair
from nmtalign.links.alignments import Alignment as Alignment
from nmtalign.links.alignments import AlignmentMatrix as AlignmentMatrix
from nmtalign.links.alignments import GoldAlignment as GoldAlignment
from nmtalign.links.alignments import Link as Link
from nmtalign.links.evaluation import Bootstrap as Bootstrap
from nmtalign.links.evaluation import Evaluation as Evaluation
from nmtalign.links.evaluation import evaluate as evaluate
from nmtalign.links.formats import read_gold as read_gold
from nmtalign.links.inputs import write_links as write_links
from nmtalign.progress import Progress as Progress
from nmtalign.report.heatmap import draw_heatmap as draw_heatmap
from nmtalign.report.heatmap import save_heatmaps as save_heatmaps
from nmtalign.report.html import write_report as write_report
from nmtalign.report.notebook import show as show
from nmtalign.report.sample import SamplePair as SamplePair
from nmtalign.report.tables import link_table as link_table
from nmtalign.text.bitext import Bitext as Bitext
from nmtalign.text.bitext import iter_chunks as iter_chunks
from nmtalign.text.bitext import read_bitext as read_bitext
from nmtalign.training.count_vectors import count_embeddings as count_embeddings
from nmtalign.vectors.embeddings import Embeddings as Embeddings
from nmtalign.vectors.storage import load_embeddings as load_embeddings
from nmtalign.vectors.storage import save_embeddings as save_embeddings

__version__: str

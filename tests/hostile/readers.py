"""All readers of files, each with small good files: what the tests damage and `scripts/fuzz.py` varies."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import pickle
import struct
import tempfile
import zipfile
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

import nmtalign
from nmtalign.applications.concordance import search
from nmtalign.applications.labels import read_sentences
from nmtalign.applications.linked_pairs import LinkedLines, LinkedPair
from nmtalign.applications.markup import TaggedSegments, parse_markup
from nmtalign.applications.projection import project_into_text, project_line, words_on_lines
from nmtalign.cli.program import read_config
from nmtalign.corpus.bitext_index import open_index, write_index_file
from nmtalign.errors import DataError
from nmtalign.external.links_from import links_from
from nmtalign.external.matrix_files import GivenPair, read_matrices, read_pairs_with_attention, write_pair
from nmtalign.files.array_files import NpzWriter, read_array, read_arrays
from nmtalign.files.text_files import read_json, read_lines
from nmtalign.links.formats import parse_gold, read_link_records
from nmtalign.names import MARKUP_FORMATS
from nmtalign.run.shards import is_shard_complete
from nmtalign.scorers.vector_scores import BahdanauScore, ProjectedDot
from nmtalign.state import fingerprints
from nmtalign.text.bitext import read_bitext
from nmtalign.text.tokenization import TextSettings
from nmtalign.training.checkpoint import Checkpoint
from nmtalign.vectors.embeddings import Vocabulary
from nmtalign.vectors.pickles import read_pickle
from nmtalign.vectors.spaces import read_seed_dictionary
from nmtalign.vectors.storage import load_both_languages, load_embeddings, save_pair
from nmtalign.vectors.word2vec_files import FASTTEXT_MAGIC
from tests.vectors.static_model import wordpiece, write_static_model

Read = Callable[[Path], object]

_SOURCE, _TARGETS = "scorer.lexicon.source.txt", "scorer.lexicon.forms-0.targets.npy"


@dataclass(frozen=True)
class Reader:
    """What reads a file of some name, and good content of it."""

    file: str
    read: Read
    content: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    beside: Callable[[Path], object] = lambda folder: None  # writes what lies beside it into a folder
    named: bool = True  # whether it knows the file's name

    @cached_property
    def samples(self) -> tuple[bytes, ...]:
        """Return the content, which is made when a test first asks for it where that takes a while."""
        return self.content() if callable(self.content) else self.content

    def __call__(self, data: bytes, folder: Path) -> None:
        """Read the data as a file of the folder, to its end."""
        path = folder / self.file
        path.write_bytes(data)
        found = self.read(path)
        if isinstance(found, Iterable) and not isinstance(found, str | bytes | dict | np.ndarray):
            deque(found, maxlen=0)


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npz(pack: bool = False, **arrays: Any) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if pack else np.savez)(file, **arrays)
    return file.getvalue()


def _saved_batch(ending: str) -> bytes:
    """Return a file of a batch with posteriors."""
    batch = nmtalign.load().align_batch([("the cat", "le chat"), ("a dog", "un chien")], posteriors=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"batch{ending}")
        batch.save(path)
        return path.read_bytes()


def _read_batch(path: Path) -> object:
    batch = nmtalign.open_batch(path)
    return batch.table(), batch.choose(symmetrize="union")


def _archive_of_pairs() -> bytes:
    pair = links_from([("a b", "c d")], matrices=[np.eye(2)])[0]
    file = io.BytesIO()
    with NpzWriter(file) as archive:
        write_pair(archive, 1, GivenPair(("a b", "c d"), pair, {"head 0": np.eye(2), "head 1": np.eye(2)}))
    return file.getvalue()


def _fasttext() -> bytes:
    words = b"".join(word + b"\0" + struct.pack("<qb", 3, 0) for word in (b"the", b"cat"))
    head = FASTTEXT_MAGIC + struct.pack("<i12id", 12, 2, 5, 5, 1, 5, 1, 1, 3, 4, 3, 4, 0, 1e-4)
    table = np.arange(12, dtype="<f4").tobytes()
    return head + struct.pack("<3iqq", 2, 2, 0, 6, -1) + words + b"\0" + struct.pack("<qq", 6, 2) + table


def _gensim() -> bytes:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["the", "cat"], np.eye(2, dtype=np.float32))
    return pickle.dumps(vectors, 4)


def _parquet() -> bytes:
    import pyarrow
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pyarrow.table({"source": ["the cat", "a"], "target": ["le chat", "un"]}), file)
    return file.getvalue()


def _index() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_index_file(Path(folder) / "x.db", [(["a", "cat"], ["chat"], {(1, 0)})] * 3, TextSettings())
        return (Path(folder) / "x.db").read_bytes()


@cache
def _model() -> nmtalign.Aligner:
    pairs = [("the cat", "le chat"), ("a dog", "un chien"), ("the dog", "le chien")] * 17
    return nmtalign.train(pairs, gold=[parse_gold("0-0 1-1")] * len(pairs))


def save_model(folder: Path) -> None:
    _model().save(folder / "model")


def _of_model(file: str) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        save_model(Path(folder))
        return (Path(folder) / "model" / file).read_bytes()


def _open_changed(path: Path) -> None:
    """Open a model of which somebody changed a file and its hash."""
    meta = path.parent / "meta.json"
    if path != meta:
        content = json.loads(meta.read_text(encoding="utf-8"))
        meta.unlink()
        meta.write_text(json.dumps(content | {"files": fingerprints(path.parent)}), encoding="utf-8")
    nmtalign.load(path.parent).align("the cat", "le chat")


def _save_vectors(folder: Path) -> None:
    side = nmtalign.Embeddings(Vocabulary.from_words(["the", "cat"]), np.eye(2))
    save_pair(side, side, folder / "pair", languages=("en", "fr"))


def _project(path: Path) -> None:
    for line in read_lines(path):
        for format in MARKUP_FORMATS:
            with contextlib.suppress(DataError):
                source = parse_markup(line, format).text
                words = [word for word in source.split(" ") if word]
                links = {(n, n % 2) for n in range(len(words))}
                pair = LinkedPair(words, ["un", "deux"], nmtalign.Alignment(links, len(words), 2))
                project_line(line, LinkedLines(source, "un deux", pair), format, split=True)


def _tag_targets(path: Path) -> None:
    """Place tags in all targets; the file must be the same where there are none to place."""
    written = io.BytesIO()
    segments = TaggedSegments(path, path.suffix.strip("."), None, written.write)
    has_changed = False
    for source, _ in segments.pairs(_raise):
        tagged, target = segments.tagged_source, segments.plain_target
        if tagged is not None and target is not None:
            words = [word for word in source.split(" ") if word]
            spans = words_on_lines(target)
            targets = [target[start:end] for start, end in spans]
            links = {(n, n % len(spans)) for n in range(len(words))}
            pair = LinkedPair(words, targets, nmtalign.Alignment(links, len(words), len(spans)))
            with contextlib.suppress(DataError):
                lines = LinkedLines(source, target, pair, (None, spans))
                segments.set_target(project_into_text(tagged, lines).text)
                has_changed = True
    assert has_changed or written.getvalue() == path.read_bytes()


def _raise(error: DataError) -> None:
    raise error


def _both_files(path: Path) -> object:
    """Read a file as both sides."""
    return list(read_bitext(path, path))


def _bitext(format: str = "auto") -> Read:
    return lambda path: read_bitext(path, format=format)


def _links(format: str) -> Read:
    return lambda path: read_link_records(path, format=format)


def _project_conllu(path: Path) -> None:
    for sentence in read_sentences(read_lines(path), str(path)):
        forms = [row.split("\t")[1] for row in sentence.split("\n") if row.count("\t") == 9]
        with contextlib.suppress(DataError):
            nmtalign.project([(forms, "le", "")], [sentence], format="conllu")


_SUBSTATION = b"[Script Info]\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,{x}cat\n"
_TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>the '
    '<ph>x</ph>cat</seg></tuv><tuv xml:lang="fr"><seg>le chat</seg></tuv></tu></body></tmx>'
)
_XLIFF = (
    '<xliff version="2.0"><file><unit><segment><source>a</source>'
    "<target>b</target></segment></unit></file></xliff>"
)


_TAGGED = (
    '<xliff><trans-unit><source>a <g id="1">b</g> c</source><seg-source><mrk mtype="seg" mid="1">a'
    ' <g id="1">b</g></mrk> <mrk mtype="seg" mid="2">c<x/></mrk></seg-source><target><mrk mtype="seg"'
    ' mid="1">d &amp; e</mrk><mrk mtype="seg" mid="2">f</mrk></target></trans-unit></xliff>'
)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


_PO = (
    'msgid ""\nmsgstr "x"\n\n#: a\n'
    'msgid "the \\"cat\\""\nmsgid_plural "cats"\nmsgstr[0] "le chat"\nmsgstr[1] "x"\n'
)
_OPENNMT = "PRED 1: un\n       the        cat\n un *0.9000000  0.1000000 \n </s> 0.2000000 *0.8000000 \n"
_WORDS = {"the": 0, "cat": 1}
_ARRAYS = {"word": np.eye(2), "n": np.array([1, 2])}
_BAHDANAU = {"W": np.eye(2), "U": np.eye(2), "v": np.ones(2), "b": np.zeros(2)}
_GIZA = "# Sentence pair (1) source length 2\nle chat\nNULL ({ }) the ({ 1 }) cat ({ 2 }) \n"


def _embeddings(file: str, *samples: bytes, **more: Any) -> Reader:
    return Reader(file, partial(load_embeddings, **more), samples)


def _zip(content: bytes) -> bytes:
    """Return a zip archive of one file."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("x.vec"), content)
    return file.getvalue()


def _static_files(name: str) -> tuple[bytes, ...]:
    """Return a file of static models."""
    size = wordpiece().get_vocab_size()
    factors = {"mapping": np.arange(size) % 5, "weights": np.ones(size, np.float32)}
    with tempfile.TemporaryDirectory() as folder:
        plain = write_static_model(Path(folder) / "plain") / name
        weighted = write_static_model(Path(folder) / "weighted", embeddings=np.eye(5, 6), **factors) / name
        return plain.read_bytes(), weighted.read_bytes()


READERS = {
    "npz": Reader("x.npz", read_arrays, (_npz(**_ARRAYS), _npz(True, **_ARRAYS))),
    "npy": Reader("x.npy", read_array, (_npy(np.eye(2)), _npy(np.arange(3, dtype="i2")))),
    "word2vec": _embeddings("x.vec", b"2 2\nthe 1 2\ncat 3 4\n", b"the 1 2\ncat 3 4\n"),
    "word2vec.gz": _embeddings("x.vec.gz", gzip.compress(b"2 2\nthe 1 2\ncat 3 4\n", mtime=0)),
    "word2vec-binary": _embeddings(
        "x.bin", b"2 2\nthe " + bytes(8) + b"\ncat " + np.ones(2, "<f4").tobytes()
    ),
    "fasttext": _embeddings("x.bin", _fasttext()),
    "word2vec.zip": _embeddings("x.zip", _zip(b"2 2\nthe 1 2\ncat 3 4\n")),
    "static model": Reader(
        "model/model.safetensors",
        lambda path: load_embeddings(path.parent).vectors(["the", "cats"]),
        partial(_static_files, "model.safetensors"),
        lambda folder: write_static_model(folder / "model"),
    ),
    "static tokenizer": Reader(
        "model/tokenizer.json",
        lambda path: load_embeddings(path.parent).vectors(["the", "cats"]),
        partial(_static_files, "tokenizer.json"),
        lambda folder: write_static_model(folder / "model"),
    ),
    "gensim": Reader("x.kv", partial(load_embeddings, format="gensim"), lambda: (_gensim(),)),
    "word2int": Reader(
        "word2int_en.pkl",
        load_embeddings,
        tuple(pickle.dumps(_WORDS, protocol) for protocol in (0, 2, 5)),
        lambda folder: (folder / "embeddings_en.npz").write_bytes(_npz(embeddings=np.eye(2))),
    ),
    "word2int.json": Reader(
        "word2int_en.json",
        load_embeddings,
        (json.dumps(_WORDS).encode(),),
        lambda folder: (folder / "embeddings_en.npy").write_bytes(_npy(np.eye(2))),
    ),
    "embeddings": Reader(
        "embeddings_en.npz",
        load_embeddings,
        (_npz(embeddings=np.eye(2)),),
        lambda folder: (folder / "word2int_en.pkl").write_bytes(pickle.dumps(_WORDS)),
    ),
    "pickle": Reader(
        "x.pkl",
        lambda path: read_pickle(path.read_bytes()),
        (pickle.dumps([{"a": 1.5, b"b": (None, True)}, {1, 2}, np.arange(3)], 4),),
        named=False,
    ),
    **{
        f"vectors {name}": Reader(
            f"pair/{name}", lambda path: load_both_languages(path.parents[1]), (content,), _save_vectors
        )
        for name, content in {
            "en/meta.json": b'{"format": "nmtalign-vectors", "version": 1, "settings": {"text": {}}}',
            "en/vocab.txt": b"the\ncat\n",
            "en/vectors.npy": _npy(np.eye(2)),
        }.items()
    },
    "pair.json": Reader(
        "pair/pair.json",
        lambda path: load_both_languages(path.parent),
        (b'{"languages": ["en", "fr"], "settings": {"text": {"lowercase": true}}}',),
        _save_vectors,
    ),
    "bahdanau": Reader(
        "x.npz",
        partial(BahdanauScore.load, dimension=2),
        (_npz(**_BAHDANAU), _npz(layer_1=np.ones((4, 3)), layer_2=np.ones((3, 1)))),
    ),
    "scaled-dot": Reader(
        "x.npz",
        partial(ProjectedDot.load, dimension=2),
        (_npz(W_q=np.eye(2), W_k=np.eye(2), null_probability=np.array(0.1)),),
    ),
    "conllu": Reader(
        "x.conllu",
        _both_files,
        (b"# sent_id = 1\n1\tle" + b"\t_" * 8 + b"\n\n1\tchat" + b"\t_" * 8 + b"\n",),
    ),
    "fast-align": Reader("x.txt", _bitext(), (b"the cat ||| le chat\n\n||| \n",)),
    "tsv": Reader("x.tsv", _bitext(), (b"the cat\tle chat\n\n",)),
    "csv": Reader("x.csv", _bitext(), (b'en,fr\n"the cat","le, chat"\n',)),
    "subtitles": Reader("x.srt", _both_files, (b"1\n00:00:01,000 --> 00:00:02,000\nthe <i>cat</i>\n",)),
    "substation": Reader("x.ass", _both_files, (_SUBSTATION,)),
    "two texts": Reader("x.txt", _both_files, (b"the cat\n",)),
    "jsonl": Reader("x.jsonl", _bitext(), (b'{"source": "the\\ud83d\\ude00", "target": "le\\n"}\n',)),
    "tmx": Reader("x.tmx", _bitext(), (_TMX.encode(), _TMX.encode("utf-16"))),
    "xliff": Reader("x.xliff", _bitext(), (_XLIFF.encode(),)),
    "tagged tmx": Reader("x.tmx", _tag_targets, (_TMX.encode(), _TMX.encode("utf-16"))),
    "tagged xliff": Reader("x.xliff", _tag_targets, (_XLIFF.encode(), _TAGGED.encode())),
    "po": Reader("x.po", _bitext(), (_PO.encode(),)),
    "parquet": Reader("x.parquet", _bitext(), lambda: (_parquet(),)),
    **{
        f"tsv{end}": Reader(f"x.tsv{end}", _bitext(), (pack(b"the cat\tle chat\n" * 9),))
        for end, pack in {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.items()
    },
    "pharaoh": Reader("x", _links("pharaoh"), (b"0-0 1-1 2p3 4?5\n\n",)),
    "talp": Reader("x", _links("talp"), (b"1-1 2-2\n",)),
    "naacl": Reader("x", _links("naacl"), (b"0001 1 1 S\n0002 1 2 P 0.5\n",)),
    "giza": Reader("x", _links("giza"), (_GIZA.encode(),)),
    "links in tsv": Reader("x", _links("tsv"), (b"the cat\tle chat\t0-0 1-1\n",)),
    "links in jsonl": Reader(
        "x", _links("jsonl"), (b'{"links": [[0, 0]], "source": ["a"], "target": ["b"]}\n',)
    ),
    "saved batch": Reader("x.npz", _read_batch, lambda: tuple(map(_saved_batch, (".npz", ".parquet")))),
    "attention archive": Reader("x.npz", read_pairs_with_attention, lambda: (_archive_of_pairs(),)),
    "attention npz": Reader("x.npz", read_matrices, (_npz(arr_0=np.eye(2), arr_1=np.ones((1, 2, 3))),)),
    "marian": Reader("x", read_matrices, (b"0.9,0.1 0.2,0.8\nun ||| 1\n",)),
    "fairseq": Reader("x", read_matrices, (b"S-0\tthe\nA-0\t0.9,0.1 0.2,0.8\nA-1\t1.0\n",)),
    "opennmt": Reader("x", read_matrices, (_OPENNMT.encode(),)),
    "nematus": Reader("x", read_matrices, (b"0 ||| a b ||| 0.2 ||| c ||| 1 ||| 2\n0.9 0.1\n0.2 0.8\n\n",)),
    "index": Reader("x.db", lambda path: search(open_index(path), "cat", "source"), lambda: (_index(),)),
    "tags": Reader(
        "x",
        _project,
        (b'the <b x="1">cat <i/>sat</b>\n', b"<bpt id='1'>{</bpt>the<ept id='1'/> <!-- -->\n"),
        named=False,
    ),
    "annotations in CoNLL-U": Reader(
        "x", _project_conllu, (b"# id\n1\tthe\t_\tX\t_\t_\t_\t_\t_\t_\n\n",), named=False
    ),
    "seed dictionary": Reader("x", read_seed_dictionary, (b"the\tle\ncat chat\n",)),
    **{
        name: Reader("x", nmtalign.read_dictionary, (content,))
        for name, content in {
            "word list": b"the\tle\t0.5\ncat chat\n",
            "cedict": "貓 猫 [mao1] /cat/to hide (oneself)/\n".encode(),
            "edict": "猫(P);ネコ [ねこ] /(n) (1) cat/(P)/\n".encode("euc-jp"),
            "json words": b'{"the": "le", "cat": ["chat"], "a": {"un": 2}}\n',
            "json word pairs": b'{"en": "the", "fr": "le"}\n{"en": "cat", "fr": ["chat"]}\n',
            "tabfile": b"##name\tx\ncat|cats\t1. chat\\n<b>matou</b> &amp; <i>n.</i>\n",
            "wiktionary": b'{"word": "a", "senses": [{"glosses": ["b"]}], "translations": [{"word": "c"}]}\n',
        }.items()
    },
    "configuration": Reader(
        "x.toml", lambda path: read_config(str(path)), (b'[align]\nscore = "dot"\nthreshold = 0.5\n',)
    ),
    "json": Reader("x.json", read_json, (b'{"a": [1, 2.5, "\\u00e9", null, {"b": true}]}',)),
    "model": Reader("model/meta.json", _open_changed, lambda: (_of_model("meta.json"),), save_model),
    "model words": Reader(f"model/{_SOURCE}", _open_changed, lambda: (_of_model(_SOURCE),), save_model),
    "model arrays": Reader("model/arrays.npz", _open_changed, lambda: (_of_model("arrays.npz"),), save_model),
    "model pairs": Reader(f"model/{_TARGETS}", _open_changed, lambda: (_of_model(_TARGETS),), save_model),
    "checkpoint": Reader(
        "x.npz",
        lambda path: Checkpoint(path, "mine").read(),
        (_npz(key=np.frombuffer(b"mine", np.uint8), step=np.array(7)),),
    ),
    "record": Reader(
        "000000.json",
        lambda path: is_shard_complete(path.parent, 0, ["links"]),
        (b'{"files": {"links": {"bytes": 3, "sha256": "x"}}}',),
    ),
}

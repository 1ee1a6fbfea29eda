"""Encoders of Hugging Face (package transformers): vectors of sub-words, and their similarities in a pair.

Axes: D dimension, T target, S source words or sub-words of a pair.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import islice
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nmtalign.arrays import Floats, Integers, Longs
from nmtalign.errors import DataError, NmtalignError, UsageError, error_text, require_extra, warn_caller
from nmtalign.external.matrix_files import PairMatrix, TokenizedPair, pair_similarities
from nmtalign.files.paths import fingerprint

# sub-words of a batch, with the padding
CPU_BATCH_TOKENS = 1024  # larger batches are slower
GPU_BATCH_TOKENS = 4096
MIN_WINDOW_SUBWORDS = 4  # includes the special ones at both ends
DEFAULT_WINDOW_SUBWORDS = 512  # the limit of models that state none
MAX_REMEMBERED_WORDS = 100_000
PRECISION = {"cpu": "float32", "cuda": "float16", "mps": "float32"}
ENCODED_PAIRS_IN_MEMORY = 256  # this is also the number of pairs written to the cache at a time
MAX_PAIR_CELLS = 1 << 26
_STACKS = ("layer", "layers", "block")  # attributes in which encoders keep their layers

Subwords = tuple[Floats, Longs]  # vectors (sub-words, D) and the word of each, (sub-words,)
# the matrix, and the word of each source and target sub-word if it is a matrix of sub-words
CacheEntry = tuple[Floats, tuple[Integers, Integers]]


def import_packages() -> tuple[Any, Any]:
    """Return torch and transformers without their messages; UsageError says how to install them."""
    with require_extra(
        "transformers", "an encoder or translation model needs the packages torch and transformers"
    ):
        import torch
        import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch, transformers


def check_device(device: str) -> None:
    """Raise UsageError if a device is missing."""
    if device == "cpu":
        return  # similarities in the cache can be read without the packages
    torch, _ = import_packages()
    is_available = torch.cuda.is_available if device == "cuda" else torch.backends.mps.is_available
    if not is_available():
        raise UsageError(
            f"there is no device {device} here; remove `device`, or install a torch that supports it"
        )


@contextmanager
def name_model_in_errors(name: str) -> Iterator[None]:
    """Turn any error of transformers or torch into a DataError that names the model.

    Errors of memory that runs out are not changed.
    """
    torch, _ = import_packages()
    try:
        yield
    except (NmtalignError, MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        found = shorten(f"{type(error).__name__}: {error}", 200)
        raise DataError(f"expected a model of the package transformers that can be run ({found})").at(
            name
        ) from error


def open_model(
    kind: str, name: str, device: str, *, download: bool = True, plain_attention: bool = False
) -> tuple[Any, Any]:
    """Return a model and the tokenizer with a name, or in a folder; none of their own code runs.

    `kind` is the class of transformers. With `plain_attention`, the model can return its attention weights,
    which its faster implementations do not compute. Raises DataError if there is no such model, or its
    tokenizer has no sub-words.
    """
    _, transformers = import_packages()
    check_device(device)
    if Path(name).is_absolute() and not Path(name).is_dir():
        raise DataError("expected a model of the package transformers; there is no such folder").at(name)
    trust = {"local_files_only": not download, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **trust)
        settings: dict[str, Any] = {"dtype": PRECISION[device], **trust}
        if plain_attention:
            settings["attn_implementation"] = "eager"
        model = getattr(transformers, kind).from_pretrained(name, **settings)
    except Exception as error:  # a foreign folder can make transformers raise anything
        found = shorten(error_text(error), 200)
        raise DataError(f"expected a model of the package transformers ({found})").at(name) from error
    pieces = set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)
    if not any(map(str.isalnum, "".join(pieces))):  # transformers makes an empty one where files are missing
        files = ", ".join(tokenizer.vocab_files_names.values())
        raise DataError(f"expected a tokenizer ({files}), found a tokenizer without a vocabulary").at(name)
    return model.eval().to(device), tokenizer


def max_subwords_of(tokenizer: Any, model: Any) -> int:
    """Return the maximum number of sub-words of a model."""
    positions = getattr(model.config, "max_position_embeddings", None) or DEFAULT_WINDOW_SUBWORDS
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)  # positions of RoBERTa begin behind that of the padding
    limit = int(min(tokenizer.model_max_length, positions - (0 if padding is None else padding + 1)))
    if limit < MIN_WINDOW_SUBWORDS:
        expected = f"expected a model that reads at least {MIN_WINDOW_SUBWORDS} sub-words"
        raise DataError(f"{expected}, found a limit of {limit}")
    return limit


def side_tokenizers(
    name: str, model: Any, tokenizer: Any, languages: tuple[str, str] | None
) -> tuple[Pieces, Pieces]:
    """Return the Pieces of source and target words; UsageError if the tokenizer lacks the languages.

    The target side is split as a translation: Marian has other sub-words for it, and other models put its
    language first.
    """
    if hasattr(tokenizer, "src_lang") != (languages is not None):
        needs = "takes no languages" if languages else "needs source and target language"
        command = f"nmtalign links-from SOURCE TARGET --encoder {name} --langs XX,YY -o LINKS"
        own_codes = f"pass `languages` in its own codes; for an aligner {command}, then `expert=LINKS`"
        advice = "remove `languages`" if languages else own_codes
        raise UsageError(f"{name} {needs}; {advice}")
    if languages is not None:
        for language in languages:  # M2M writes __en__ for en, which is in no vocabulary
            ids = tokenizer.convert_tokens_to_ids([language, f"__{language}__"])
            if not set(ids) - {None, tokenizer.unk_token_id}:
                raise UsageError(f"{name} does not support the language {language!r}")
        tokenizer.src_lang, tokenizer.tgt_lang = languages
    with name_model_in_errors(name):
        try:
            limit = max_subwords_of(tokenizer, model)
        except DataError as error:
            raise error.at(name) from None
        rows = model.get_input_embeddings().num_embeddings
    return Pieces(tokenizer, limit, name, rows), Pieces(tokenizer, limit, name, rows, target=True)


class Window(NamedTuple):
    """Some sub-words of a sentence, with the special ones around them."""

    sentence: int
    ids: list[int]
    # (sub-words,): number of each sub-word in the sentence; -1 for special ones, and for those that are
    # closer to the middle of another window
    positions: Longs


@dataclass(eq=False)
class Pieces:
    """Splits each word of a text into sub-words by itself, and returns their numbers."""

    tokenizer: Any
    max_subwords: int  # a window has no more, special ones included
    name: str = "the model"
    rows: float = math.inf  # rows of its table of embeddings
    target: bool = False  # whether these are of the target side of a translation model
    _known: dict[str, list[int]] = field(default_factory=dict)
    _told: bool = False

    def subwords_of_words(self, words: Sequence[str]) -> list[list[int]]:
        """Return the sub-words of each word; warn once if the tokenizer returns none for a word."""
        if len(self._known) > MAX_REMEMBERED_WORDS:
            self._known.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        if new:
            pieces = self._ids_of_words(new)
            self._known.update(zip(new, pieces, strict=True))
            lost = next((word for word, ids in zip(new, pieces, strict=True) if not ids), None)
            if lost is not None and not self._told:
                text = f"the tokenizer returns no sub-words for {lost!r}; such words have no vector"
                warn_caller(f"{text}, and the encoder cannot link them")
                self._told = True
        return [self._known[word] for word in words]

    @cached_property
    def special(self) -> tuple[list[int], list[int]]:
        """The special sub-words before and after a sentence."""
        plain = self._ids("a", special=False)
        whole = self._ids("a")
        start = max(n for n in range(len(whole)) if whole[n : n + len(plain)] == plain)
        return whole[:start], whole[start + len(plain) :]

    def _ids(self, text: str, *, special: bool = True) -> list[int]:
        """Return the numbers of the sub-words of a text, with or without special ones."""
        numbers: list[int] = self.tokenizer(**{self._side: text}, add_special_tokens=special)["input_ids"]
        return numbers

    def _ids_of_words(self, words: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the sub-words of each word, without special ones."""
        given = {self._side: [[word] for word in words]}
        encoded = self.tokenizer(**given, is_split_into_words=True, add_special_tokens=False)
        numbers: list[list[int]] = encoded["input_ids"]
        return numbers

    @property
    def _side(self) -> str:
        """The parameter of the tokenizer that takes the text of this side."""
        return "text_target" if self.target else "text"

    @property
    def padding(self) -> int:
        """The number of the padding, which is masked; it may have no embedding."""
        number = self.tokenizer.pad_token_id or 0
        return number if number < self.rows else 0

    def check(self, ids: Sequence[Sequence[int]]) -> None:
        """Raise DataError if a sub-word has no embedding, because the tokenizer belongs to another model."""
        greatest = max(max(row, default=0) for row in ids)
        if greatest >= self.rows:
            expected = f"expected sub-words numbered below {self.rows:,}, as the model has embeddings"
            raise DataError(
                f"{expected}, found {greatest:,}; does its tokenizer belong to another model?"
            ).at(self.name)

    def without_special(self, words: Sequence[str]) -> tuple[list[int], Longs]:
        """Return the sub-words of a sentence without special ones, and the word of each."""
        pieces = self.subwords_of_words(words)
        word_of_piece = np.repeat(np.arange(len(words)), [len(piece) for piece in pieces])
        return [number for piece in pieces for number in piece], word_of_piece

    def with_special(self, words: Sequence[str]) -> tuple[list[int], Longs]:
        """Return all sub-words of a sentence, and the word of each; -1 for special ones."""
        ids, word_of_piece = self.without_special(words)
        before, after = self.special
        padded = np.pad(word_of_piece, (len(before), len(after)), constant_values=-1)
        return [*before, *ids, *after], padded

    def windows(self, sentence: int, ids: Sequence[int]) -> Iterator[Window]:
        """Yield the windows of the sub-words of a sentence; each overlaps the next by half."""
        before, after = self.special
        if not ids:
            return
        room = self.max_subwords - len(before) - len(after)
        half = room // 2
        quarter = room // 4
        last_start = max(len(ids) - room, 0)
        starts = range(0, last_start + half, half)
        for start in starts:
            inside = np.arange(start, min(start + room, len(ids)))
            # the first and the last quarter are read better by the neighboring windows
            if start != starts[0]:
                inside[:quarter] = -1
            if start != starts[-1]:
                inside[quarter + half :] = -1
            positions = np.pad(inside, (len(before), len(after)), constant_values=-1)
            yield Window(sentence, [*before, *ids[start : start + room], *after], positions)


@dataclass(eq=False)
class Encoder:
    """An encoder of Hugging Face, or of a translation model, which is opened when it is needed."""

    name: str  # name on the hub or folder of a model: BERT, XLM-R, NLLB, M2M, Marian, T5, ...
    layer: int = 8  # its hidden states are the vectors; 0 are the embeddings
    device: str = "cpu"  # "cuda" computes in half precision
    download: bool = True  # whether the model may be downloaded from the hub
    languages: tuple[str, str] | None = None  # source and target, as its tokenizer calls them
    _told: bool = False

    def __getstate__(self) -> dict[str, Any]:
        # the opened model is omitted
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def check(self) -> None:
        """Open the encoder; errors are those of :func:`open_model`, or a UsageError for a missing layer."""
        self._opened  # noqa: B018

    @cached_property
    def _opened(self) -> tuple[Any, tuple[Pieces, Pieces]]:
        model, tokenizer = open_model("AutoModel", self.name, self.device, download=self.download)
        sides = side_tokenizers(self.name, model, tokenizer, self.languages)
        if hasattr(model, "encoder") and hasattr(model, "decoder"):
            model = model.get_encoder()
        inner = getattr(model, "encoder", model)
        stacks = [name for name in _STACKS if hasattr(inner, name)]
        layers = len(getattr(inner, stacks[0])) if stacks else int(model.config.num_hidden_layers)
        if not 0 <= self.layer <= layers:
            raise UsageError(f"there is no layer {self.layer}: {self.name} has 0 (embeddings) to {layers}")
        for name in stacks:
            # later layers are not needed; one more is kept where a last normalization would change the states
            has_last_norm = len(list(inner.children())) > 1
            kept_layers = max(self.layer, 1) + (1 if has_last_norm else 0)
            setattr(inner, name, getattr(inner, name)[:kept_layers])
        return model, sides

    def vectors(self, pairs: Mapping[int, TokenizedPair]) -> list[tuple[Subwords, Subwords]]:
        """Return the vectors (sub-words, D) of both sides of pairs by number, and the word of each.

        Sentences that are too long for the encoder are read in overlapping windows, with a warning. Words for
        which the tokenizer returns no sub-words have no vectors.
        """
        model, sides = self._opened
        width = model.config.hidden_size
        vectors: list[Subwords] = []
        windows: list[Window] = []
        for number, pair in pairs.items():
            for pieces, words in zip(sides, pair, strict=True):
                ids, word_of_piece = pieces.without_special(words)
                of_sentence = list(pieces.windows(len(vectors), ids))
                if len(of_sentence) > 1 and not self._told:
                    text = f"pair {number} has {len(ids)} sub-words, {self.name} takes {pieces.max_subwords}"
                    warn_caller(f"{text}; such sentences are read by overlapping windows")
                    self._told = True
                vectors.append((np.zeros((len(ids), width), np.float32), word_of_piece))
                windows += of_sentence
        tokens = CPU_BATCH_TOKENS if self.device == "cpu" else GPU_BATCH_TOKENS
        for window, states in run_in_batches(self._run, windows, tokens, self.device):
            kept = window.positions >= 0
            vectors[window.sentence][0][window.positions[kept]] = states[kept]
        return list(zip(vectors[::2], vectors[1::2], strict=True))

    def _run(self, batch: Sequence[Window]) -> list[Floats]:
        torch, _ = import_packages()
        model, (pieces, _) = self._opened
        tensors = model_inputs(batch, pieces, self.device)
        with name_model_in_errors(self.name), torch.inference_mode():
            layers = model(**tensors, output_hidden_states=True).hidden_states
            states = layers[self.layer].float().cpu().numpy()
        return [states[row, : len(window.ids)] for row, window in enumerate(batch)]

    @property
    def identity(self) -> list[str]:
        """The values that identify the model: hashes of the files in its folder, or its commit on the hub."""
        folder = Path(self.name)
        if folder.is_dir():
            return [fingerprint(path)["sha256"] for path in sorted(folder.iterdir()) if path.is_file()]
        if not self._commit():
            self.check()  # downloads the model, or raises an error that says what is missing
        return [self.name, self._commit()]

    def _commit(self) -> str:
        """Return the commit of the model that was downloaded from the hub; empty if there is none."""
        try:
            from huggingface_hub import try_to_load_from_cache

            config = try_to_load_from_cache(self.name, "config.json")
        except (ImportError, ValueError):  # no such package, no such name
            return ""
        return Path(config).parent.name if isinstance(config, str) else ""


class Sized(Protocol):
    """An item with sub-words."""

    @property
    def ids(self) -> list[int]: ...


SizedItem = TypeVar("SizedItem", bound=Sized)


def run_in_batches(
    run: Callable[[Sequence[SizedItem]], list[Floats]], items: Sequence[SizedItem], tokens: int, device: str
) -> Iterator[tuple[SizedItem, Floats]]:
    """Yield each item with the result of `run`, the longest items first.

    A batch contains items of similar length, and about `tokens` sub-words including the padding.
    """
    longest_first = sorted(items, key=lambda item: -len(item.ids))
    start = 0
    while start < len(longest_first):
        size = max(1, tokens // max(len(longest_first[start].ids), 1))
        batch = longest_first[start : start + size]
        yield from zip(batch, _run_halving(run, batch, device), strict=True)
        start += len(batch)


def model_inputs(
    batch: Sequence[SizedItem], pieces: Pieces, device: str, labels: Sequence[Sequence[int]] = ()
) -> dict[str, Any]:
    """Return the inputs of a model: sub-words, a mask without the padding, and maybe labels, all padded."""
    torch, _ = import_packages()
    ids = [item.ids for item in batch]
    pieces.check(ids)
    tensors = {
        "input_ids": _pad_rows(ids, pieces.padding),
        "attention_mask": _pad_rows([[1] * len(row) for row in ids], 0),
    }
    if labels:
        tensors["labels"] = _pad_rows(labels, -100)  # PyTorch's losses ignore this number
    return {name: torch.tensor(rows, device=device) for name, rows in tensors.items()}


def _pad_rows(rows: Sequence[Sequence[int]], padding: int) -> list[list[int]]:
    """Return the rows at equal length."""
    width = max(map(len, rows))
    return [[*row, *[padding] * (width - len(row))] for row in rows]


def _run_halving(
    run: Callable[[Sequence[SizedItem]], list[Floats]], batch: Sequence[SizedItem], device: str
) -> list[Floats]:
    """Return the result of `run` for a batch; a batch that is too large for the device is halved."""
    torch, _ = import_packages()
    try:
        return run(batch)
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            found = f"out of memory on {device} with a sentence of {len(batch[0].ids)} sub-words"
            raise NmtalignError(f"{found}; use `device=cpu` or a smaller model") from None
    half = len(batch) // 2
    return [*_run_halving(run, batch[:half], device), *_run_halving(run, batch[half:], device)]


@dataclass(eq=False)
class EncoderSimilarities:
    """Similarities of the token vectors of an encoder.

    `cache` is an SQLite file that keeps similarities by a hash of everything they depend on: content or
    commit of the model, layer, languages, precision, maximum window, product, units, words.
    """

    encoder: Encoder
    product: str = "cosine"
    cache: str | Path | None = None
    units: str = "words"

    @property
    def description(self) -> str:
        encoder = self.encoder
        languages = f" langs={','.join(encoder.languages)}" if encoder.languages else ""
        return f"encoder={encoder.name} layer={encoder.layer}{languages}"

    def read(self, pairs: Iterable[TokenizedPair]) -> Iterator[PairMatrix]:
        """Yield the similarities of each pair; raise DataError if a pair has more than `MAX_PAIR_CELLS`."""
        numbered = enumerate(pairs, 1)
        while part := dict(islice(numbered, ENCODED_PAIRS_IN_MEMORY)):
            with_words = {number: words for number, words in part.items() if all(words)}
            similarities = self._similarities(with_words)
            for number, words in part.items():
                if number in similarities:
                    yield similarities[number]
                else:
                    yield PairMatrix(words, np.zeros((len(words[1]), len(words[0]))))

    def _similarities(self, pairs: Mapping[int, TokenizedPair]) -> dict[int, PairMatrix]:
        """Return the similarities of some pairs by their number, from the cache or the encoder."""
        if self.cache is None:
            return self._computed(pairs)
        keys = {number: self._key(pair) for number, pair in pairs.items()}
        rows = _run_on_cache(
            self.cache, "SELECT value FROM similarities WHERE key = ?", [(key,) for key in keys.values()]
        )
        stored = {}
        for (number, words), row in zip(pairs.items(), rows, strict=True):
            entry = None if row is None else _decode_entry(row[0])
            if entry is not None:
                matrix, word_of_piece = entry
                stored[number] = PairMatrix(words, matrix, None if self.units == "words" else word_of_piece)
        missing = {number: pair for number, pair in pairs.items() if number not in stored}
        new = self._computed(missing)
        entries = [(keys[number], _encode_entry(pair)) for number, pair in new.items()]
        _run_on_cache(self.cache, "INSERT OR REPLACE INTO similarities VALUES (?, ?)", entries)
        return stored | new

    def _computed(self, pairs: Mapping[int, TokenizedPair]) -> dict[int, PairMatrix]:
        vectors = self.encoder.vectors(pairs) if pairs else []
        similarities = {}
        for (number, pair), sides in zip(pairs.items(), vectors, strict=True):
            if self.units == "words":
                cell_count = len(pair[0]) * len(pair[1])
            else:
                (_, source_pieces), (_, target_pieces) = sides
                cell_count = len(source_pieces) * len(target_pieces)
            if cell_count > MAX_PAIR_CELLS:
                expected = f"expected at most {MAX_PAIR_CELLS:,} cells (target by source {self.units})"
                raise DataError(
                    f"pair {number}: {expected}, found {cell_count:,}; split the pair into shorter ones"
                )
            try:
                similarities[number] = pair_similarities(pair, sides, self.product, self.units)
            except DataError as error:
                place = f"layer {self.encoder.layer} in {PRECISION[self.encoder.device]}"
                raise DataError(f"pair {number}: {error}, by {place}; `device=cpu` is more precise") from None
        return similarities

    @cached_property
    def _identity(self) -> list[object]:
        encoder = self.encoder
        precision = PRECISION[encoder.device]
        how = [
            encoder.layer,
            encoder.languages,
            encoder.device,
            precision,
            DEFAULT_WINDOW_SUBWORDS,
            self.product,
            self.units,
        ]
        return [*(encoder.identity if self.cache is not None else []), *how]

    def _key(self, pair: TokenizedPair) -> str:
        text = json.dumps([self._identity, *pair], ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _encode_entry(pair: PairMatrix) -> bytes:
    """Return an entry of the cache.

    It contains a checksum, T and S, the number of word numbers, the word numbers, and the matrix.
    """
    numbers = np.concatenate(pair.word_of_piece or [[]])
    header = np.concatenate([pair.matrix.shape, [len(numbers)], numbers]).astype("<i4")
    body = header.tobytes() + pair.matrix.astype("<f4").tobytes()
    return zlib.crc32(body).to_bytes(4, "little") + body


def _decode_entry(value: object) -> CacheEntry | None:
    """Return the content of an entry; None if it is damaged, or if nmtalign did not write it."""
    if not isinstance(value, bytes) or len(value) < 16:
        return None
    if zlib.crc32(value[4:]).to_bytes(4, "little") != value[:4]:
        return None
    T, S, count = np.frombuffer(value, "<i4", 3, 4).tolist()
    numbers = np.frombuffer(value, "<i4", count, 16)
    matrix = np.frombuffer(value, "<f4", T * S, 16 + 4 * count).reshape(T, S)
    return matrix, (numbers[:S], numbers[S:])


def _run_on_cache(
    path: str | Path, command: str, rows: Iterable[tuple[object, ...]]
) -> list[tuple[object] | None]:
    """Run a command on a cache, an SQLite file, for each row, and return the first row of each answer."""
    try:
        with closing(sqlite3.connect(path, timeout=60)) as file, file:
            if file.execute("SELECT 1 FROM sqlite_master WHERE tbl_name != 'similarities'").fetchone():
                raise sqlite3.DatabaseError("it contains other tables")
            file.execute("CREATE TABLE IF NOT EXISTS similarities (key TEXT PRIMARY KEY, value BLOB)")
            return [file.execute(command, row).fetchone() for row in rows]
    except sqlite3.Error as error:
        if "full" in str(error) or "I/O" in str(error):
            raise NmtalignError(f"{path}: {error}") from None
        found = f"expected a cache that nmtalign wrote ({error}); name another file"
        raise DataError(found).at(path) from None

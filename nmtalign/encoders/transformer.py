"""Pretrained encoders of the package transformers: token vectors of the words of a sentence.

Axes: N words, D dimension, L sub-words.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from nmtalign.arrays import Floats, Longs
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.names import DEVICES

TOKENS, OF_DEVICE = 1024, 4096  # sub-words of a batch, with the padding; on a CPU more are slower
LONGEST = 512  # sub-words of a window, if the model has no limit
_SPECIAL = 2  # positions that some models reserve


def packages() -> tuple[Any, Any]:
    """Return torch and transformers, silenced; a UsageError says how to install them."""
    try:
        import torch
        import transformers
    except ImportError:
        found = "an encoder or translation model needs the packages torch and transformers"
        raise UsageError(f"{found}: pip install 'nmtalign[transformers]'") from None
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch, transformers


def check_device(device: str) -> None:
    """Raise a UsageError if a device is missing."""
    if device not in DEVICES:
        raise UsageError(f"expected one of the devices {', '.join(DEVICES)}, found {device!r}")
    if device == "cpu":
        return  # what the cache holds needs no package
    torch, _ = packages()
    there = {"cuda": torch.cuda.is_available, "mps": torch.backends.mps.is_available}
    if not there[device]():
        raise UsageError(f"there is no device {device} here; leave it out, or install a torch that has it")


def opened(kind: str, name: str, device: str, *, download: bool = True, **settings: Any) -> tuple[Any, Any]:
    """Return the model, of a class of transformers, and the tokenizer of a name or folder; no code of theirs.

    Raises
    ------
    DataError
        If there is none, or its tokenizer has no sub-words.
    UsageError
        If a package or the device is missing.
    """
    torch, transformers = packages()
    check_device(device)
    half = torch.float16 if device == "cuda" else torch.float32
    if Path(name).is_absolute() and not Path(name).is_dir():
        raise DataError("expected a model of the package transformers; there is no such folder").at(name)
    trust = {"local_files_only": not download, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **trust)
        model = getattr(transformers, kind).from_pretrained(name, dtype=half, **trust, **settings)
    except Exception as error:  # whatever a foreign folder makes transformers do
        found = shorten(str(error), 200)
        raise DataError(f"expected a model of the package transformers ({found})").at(name) from error
    pieces = set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)
    if not any(map(str.isalnum, "".join(pieces))):  # transformers makes an empty one where files are missing
        files = ", ".join(tokenizer.vocab_files_names.values())
        raise DataError(f"expected a tokenizer ({files}), found none that knows a word").at(name)
    return model.eval().to(device), tokenizer


def limit_of(tokenizer: Any, config: Any) -> int:
    """Return the greatest number of sub-words of a model."""
    positions = getattr(config, "max_position_embeddings", None) or LONGEST
    return int(min(tokenizer.model_max_length, positions - _SPECIAL))


class Window(NamedTuple):
    """Some sub-words of a sentence, with the special ones around them.

    Attributes
    ----------
    sentence : int
    ids : list of int
    words : array of int, shape (L,)
        Word of each sub-word; -1 for one that another window is nearer to the middle of, and special ones.
    """

    sentence: int
    ids: list[int]
    words: Longs


@dataclass(eq=False)
class Pieces:
    """Words of a text as numbers of sub-words; each word by itself.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
    limit : int
        Sub-words of a window, special ones included.
    target : bool
        Whether these are sub-words of the target side of a translation model.
    """

    tokenizer: Any
    limit: int
    target: bool = False
    _known: dict[str, list[int]] = field(default_factory=dict)
    _lost: int = 0

    def of(self, words: Sequence[str]) -> list[list[int]]:
        """Return the sub-words of each word; warns once of words that the tokenizer makes nothing of."""
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        if new:
            found = self._ids([[word] for word in new], is_split_into_words=True, add_special_tokens=False)
            self._known.update(zip(new, found, strict=True))
            lost = [word for word, ids in zip(new, found, strict=True) if not ids]
            if lost and not self._lost:
                text = f"the tokenizer loses {lost[0]!r}; such words have no vector"
                warnings.warn(f"{text}, and the encoder tells nothing of them", stacklevel=2)
            self._lost += len(lost)
        return [self._known[word] for word in words]

    @cached_property
    def special(self) -> tuple[list[int], list[int]]:
        """The special sub-words before and after a sentence."""
        plain = self._ids("a", add_special_tokens=False)
        whole = self._ids("a")
        start = max(n for n in range(len(whole)) if whole[n : n + len(plain)] == plain)
        return whole[:start], whole[start + len(plain) :]

    def _ids(self, text: Any, **settings: Any) -> Any:
        return self.tokenizer(**{"text_target" if self.target else "text": text}, **settings)["input_ids"]

    def _inside(self, words: Sequence[str]) -> tuple[list[int], Longs]:
        """Return the sub-words of a sentence without special ones, and the word of each."""
        pieces = self.of(words)
        of_word = np.repeat(np.arange(len(words)), [len(piece) for piece in pieces])
        return [number for piece in pieces for number in piece], of_word

    def whole(self, words: Sequence[str]) -> tuple[list[int], Longs]:
        """Return all sub-words of a sentence, and the word of each; -1 for special ones."""
        (ids, of_word), (before, after) = self._inside(words), self.special
        return [*before, *ids, *after], np.pad(of_word, (len(before), len(after)), constant_values=-1)

    def windows(self, sentence: int, words: Sequence[str]) -> Iterator[Window]:
        """Yield the windows of a sentence; each overlaps the next by half."""
        (ids, of_word), (before, after) = self._inside(words), self.special
        room = self.limit - len(before) - len(after)
        starts = list(range(0, max(len(ids) - room, 0) + room // 2, room // 2)) if ids else []
        for start in starts:
            own = of_word[start : start + room].copy()
            own[: room // 4 if start else 0] = -1
            if start != starts[-1]:
                own[room // 4 + room // 2 :] = -1
            outside = [np.full(len(special), -1) for special in (before, after)]
            chosen = [*before, *ids[start : start + room], *after]
            yield Window(sentence, chosen, np.concatenate([outside[0], own, outside[1]]))


@dataclass(eq=False)
class Encoder:
    """An encoder of Hugging Face, from its folder or name, opened when it is needed.

    Parameters
    ----------
    name : str
        Of a model on the hub, or its folder.
    layer : int
        Whose hidden states are the vectors; 0 are the embeddings.
    device : {"cpu", "cuda", "mps"}
        On CUDA in half precision.
    download : bool
        Whether it may come from the hub now.
    """

    name: str
    layer: int = 8
    device: str = "cpu"
    download: bool = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("name", "layer", "device", "download")}

    def check(self) -> None:
        """Open the encoder; errors as of :func:`opened`, and UsageError if there is no such layer."""
        self._opened  # noqa: B018

    @cached_property
    def _opened(self) -> tuple[Any, Pieces]:
        model, tokenizer = opened("AutoModel", self.name, self.device, download=self.download)
        config = model.config
        if getattr(config, "is_encoder_decoder", False):
            model = model.get_encoder()
        layers = int(getattr(config, "num_hidden_layers", 0) or config.encoder_layers)
        if not 0 <= self.layer <= layers:
            raise UsageError(f"there is no layer {self.layer}: {self.name} has 0 (embeddings) to {layers}")
        stack = getattr(getattr(model, "encoder", None), "layer", None)
        if stack is not None:  # later layers are not asked for; one keeps a last normalization away
            spare = len(list(model.encoder.children())) > 1
            model.encoder.layer = stack[: max(self.layer, 1) + spare]
        return model, Pieces(tokenizer, limit_of(tokenizer, config))

    def vectors(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        """Return the vectors (N, D) of the words of each sentence: means over their sub-words.

        Sentences longer than the encoder takes are read by overlapping windows. Words that the tokenizer
        makes nothing of have zero vectors.
        """
        _, pieces = self._opened
        windows = [window for n, words in enumerate(sentences) for window in pieces.windows(n, words)]
        sums: list[Floats | None] = [None] * len(sentences)
        for batch in batches(windows, TOKENS if self.device == "cpu" else OF_DEVICE):
            found = within_memory(self._run, batch, self.device)
            for window, states in zip(batch, found, strict=True):
                n, kept = window.sentence, window.words >= 0
                total = sums[n]
                if total is None:
                    total = sums[n] = np.zeros((len(sentences[n]), states.shape[-1]), np.float32)
                np.add.at(total, window.words[kept], states[kept])
        return [
            np.zeros((len(words), 1), np.float32) if total is None else _means(total, pieces.of(words))
            for words, total in zip(sentences, sums, strict=True)
        ]

    def _run(self, batch: Sequence[Window]) -> list[Floats]:
        torch, _ = packages()
        model, pieces = self._opened
        given = {name: torch.tensor(own, device=self.device) for name, own in inputs(batch, pieces).items()}
        with torch.inference_mode():
            states = model(**given, output_hidden_states=True).hidden_states[self.layer].float().cpu().numpy()
        return [states[row, : len(window.ids)] for row, window in enumerate(batch)]

    @property
    def identity(self) -> list[str]:
        """What says which model this is: the contents of its folder, or its commit on the hub."""
        from nmtalign.files import fingerprint

        folder = Path(self.name)
        if folder.is_dir():
            return [fingerprint(path)["sha256"] for path in sorted(folder.iterdir()) if path.is_file()]
        if not self._commit():
            self.check()  # it comes from the hub, or says what is missing
        return [self.name, self._commit()]

    def _commit(self) -> str:
        """Return the commit of the model that was downloaded from the hub; empty if there is none."""
        try:
            from huggingface_hub import try_to_load_from_cache

            found = try_to_load_from_cache(self.name, "config.json")
        except (ImportError, ValueError):  # no such package, no such name
            return ""
        return Path(found).parent.name if isinstance(found, str) else ""


def _means(total: Floats, pieces: Sequence[Sequence[int]]) -> Floats:
    counts = np.array([len(ids) for ids in pieces], np.float32)
    return np.asarray(total / np.maximum(counts, 1)[:, None])


class Sized(Protocol):
    """An item with sub-words."""

    @property
    def ids(self) -> list[int]: ...


Item = TypeVar("Item", bound=Sized)


def batches(items: Sequence[Item], tokens: int) -> Iterator[list[Item]]:
    """Yield batches of like length, the longest first, of about so many sub-words with the padding."""
    order = sorted(items, key=lambda item: -len(item.ids))
    start = 0
    while start < len(order):
        size = max(1, tokens // max(len(order[start].ids), 1))
        yield order[start : start + size]
        start += size


def inputs(batch: Sequence[Item], pieces: Pieces) -> dict[str, list[list[int]]]:
    """Return the inputs of a model: padded sub-words, and a mask without the padding."""
    ids = [item.ids for item in batch]
    mask = padded([[1] * len(own) for own in ids], 0)
    return {"input_ids": padded(ids, pieces.tokenizer.pad_token_id or 0), "attention_mask": mask}


def padded(rows: Sequence[Sequence[int]], padding: int) -> list[list[int]]:
    """Pad rows to the length of the longest."""
    width = max(map(len, rows))
    return [[*row, *[padding] * (width - len(row))] for row in rows]


def within_memory(
    run: Callable[[Sequence[Item]], list[Floats]], batch: Sequence[Item], device: str, *, again: bool = True
) -> list[Floats]:
    """Return what `run` makes of a batch; one too large for the device is halved once."""
    torch, _ = packages()
    try:
        return run(batch)
    except torch.OutOfMemoryError:
        size = max(len(item.ids) for item in batch)
        if not again or len(batch) == 1:
            found = f"out of memory on {device} with {len(batch)} sentences of {size} sub-words"
            raise NmtalignError(f"{found}; use `device=cpu` or a smaller model") from None
    halves = batch[: len(batch) // 2], batch[len(batch) // 2 :]
    return [found for half in halves for found in within_memory(run, half, device, again=False)]

"""``nmtalign serve``: a page for one user, and the alignment of the pairs that are typed into it.

The server listens on this machine alone. A page of another site cannot use it: it would have to name another
host or another origin, and is refused. There are two addresses and no files behind them.
"""

from __future__ import annotations

import io
import json
import math
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

import click

import nmtalign as na
from nmtalign.cli.declare import command
from nmtalign.cli.model_options import load_given, log_known_languages
from nmtalign.declarations import Settings, setting
from nmtalign.display import with_plural
from nmtalign.errors import DataError, NmtalignError, UsageError
from nmtalign.files.text_files import parse_json
from nmtalign.names import MULTILINGUAL_MODEL, SIDES
from nmtalign.text.bitext import SentencePair

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


EXAMPLES = {  # one sentence, by language
    "en": "The black cat sleeps .",
    "fr": "Le chat noir dort .",
    "de": "Die schwarze Katze schläft .",
    "es": "El gato negro duerme .",
    "it": "Il gatto nero dorme .",
    "pt": "O gato preto dorme .",
    "nl": "De zwarte kat slaapt .",
    "cs": "Černá kočka spí .",
    "ro": "Pisica neagră doarme .",
    "ru": "Чёрная кошка спит .",
    "ar": "القطة السوداء نائمة .",
    "zh": "黑 猫 在 睡觉 。",
    "ja": "黒い 猫 が 眠って いる 。",
}


# The sentence of a famous figure, in which three words cross: Bahdanau, Cho and Bengio (2015), Figure 3.
CROSSING_EXAMPLE = {
    "en": "The agreement on the European Economic Area was signed in August 1992 .",
    "fr": "L' accord sur la zone économique européenne a été signé en août 1992 .",
}


def example_of(languages: tuple[str | None, str | None]) -> tuple[str, str]:
    """Return a pair in two languages; two empty texts where one of them is unknown."""
    examples = CROSSING_EXAMPLE if set(languages) == set(CROSSING_EXAMPLE) else EXAMPLES
    source, target = (examples.get(language or "", "") for language in languages)
    return (source, target) if source and target else ("", "")


@dataclass(frozen=True, kw_only=True)
class ServedOptions(Settings):
    """The aligners that the page offers."""

    section = "Model"

    model: tuple[str, ...] = setting(
        None,
        "--model DIR",
        "Folder of a learned model; may be repeated.  [the bundled English-French one, and multilingual if"
        " its extra is installed]",
        kind="input",
    )
    vectors: tuple[str, ...] = setting(
        None, "--vectors DIR", "Folder of word vectors of two languages; may be repeated.", kind="input"
    )

    def load(self) -> dict[str, na.Aligner]:
        """Return the aligners by the names that the page shows."""
        from nmtalign.external.word_encoders import has_universal_encoder

        aligners: dict[str, na.Aligner] = {}
        for path in self.model:
            name = Path(path).name or path
            aligners[name] = load_given(model=path)
            log_known_languages(name, aligners[name])
        for path in self.vectors:
            aligners[Path(path).name or path] = load_given(vectors=path)
        if len(aligners) < len(self.model) + len(self.vectors):
            problem = "two models have the same folder name, under which the page lists them"
            raise UsageError(f"{problem}; rename one")
        if not aligners:
            aligners["English-French, bundled"] = na.load()
            if has_universal_encoder():
                aligners["sixteen languages, bundled"] = na.load(MULTILINGUAL_MODEL)
        return aligners


@dataclass(frozen=True, kw_only=True)
class ServerOptions(Settings):
    """The address of the server."""

    port: int = setting(8765, "--port", "Port to listen on; 0 picks a free one.", minimum=0, maximum=65535)


@command("serve")
def serve_command(served: ServedOptions, server: ServerOptions) -> None:
    """Serve a web page that aligns sentence pairs as you type them.

    The page shows links as curves, the matrix of weights, and the weights of each scorer. Each source line
    is aligned with the target line at the same place. Two models are shown side by side, and links that only
    one of them has are marked. Only browsers on this machine can open the page, other sites cannot use it,
    and nothing that you type is saved. Ctrl-C stops the server.

    Example: nmtalign serve --model model --vectors en_fr_vectors
    """
    aligners = served.load()
    first = next(iter(aligners.values()))
    try:
        listening = Server(aligners, example_of(first.languages), server.port)
    except OSError as error:
        problem = f"--port {server.port}: {error.strerror}"
        raise UsageError(f"{problem}; choose another port, or 0 for a free one") from None
    with listening, suppress(KeyboardInterrupt):
        click.echo(f"Open {listening.address} in a browser; Ctrl-C stops the server.", err=True)
        listening.serve_forever()


# --- the server ----------------------------------------------------------------------------------

HOST = "127.0.0.1"
MAX_REQUEST_BYTES = 100_000
MAX_PAIRS_PER_REQUEST = 20
MAX_WORDS_PER_SENTENCE = 400
MAX_CELLS_OF_SHORT_TEXT = 5_000  # of all models
REQUEST_SECONDS = 10.0  # time limit for receiving a whole request, and for sending its answer
MAX_CONNECTIONS = 32  # a browser opens six
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the page itself has a stricter one
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Server(ThreadingHTTPServer):
    """Serves the page for aligners, which are offered by their names; port 0 picks a free port."""

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS

    def __init__(self, aligners: Mapping[str, na.Aligner], example: tuple[str, str], port: int) -> None:
        from nmtalign.report.html import typing_page

        super().__init__((HOST, port), _RequestHandler)
        self.aligners = aligners
        # a long text does not hold up the short ones of other browsers
        self.aligning = {"short": Lock(), "long": Lock()}
        self.free = BoundedSemaphore(MAX_CONNECTIONS)
        self.page = typing_page(list(aligners), example).encode()
        self.names = {f"{name}:{self.server_port}" for name in (HOST, "localhost")}

    @property
    def address(self) -> str:
        """The address to open."""
        return f"http://{HOST}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread; close the connection at once if there are `MAX_CONNECTIONS` already."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request, then accept another one."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that close the connection before the answer is sent; print other errors."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def answer(self, request: bytes) -> dict[str, Any]:
        """Return the data that the page draws for a JSON request; raise DataError if it asks for too much."""
        from nmtalign.report.page_data import report_data

        fields = parse_json(request.decode())
        if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in SIDES):
            raise DataError("expected an object with models, source and target")
        models = self._models(fields.get("models"))
        pairs = [SentencePair(*sides) for sides in _split_pairs(fields["source"], fields["target"])]
        sizes = [
            tuple(map(len, aligner.text_settings.words_of_pair(pair, aligner.languages)))
            for aligner in models.values()
            for pair in pairs
        ]
        longest = max(map(max, sizes))
        if len(pairs) > MAX_PAIRS_PER_REQUEST or longest > MAX_WORDS_PER_SENTENCE:
            found = f"{with_plural(len(pairs), 'pair')}, the longest sentence of {longest} words"
            limits = f"{MAX_PAIRS_PER_REQUEST} pairs and {MAX_WORDS_PER_SENTENCE} words"
            raise DataError(f"expected at most {limits}, found {found}")
        lane = "short" if sum(map(math.prod, sizes)) <= MAX_CELLS_OF_SHORT_TEXT else "long"
        with self.aligning[lane]:
            return report_data(_align_typed_pairs(pairs, models))

    def _models(self, names: Any) -> dict[str, na.Aligner]:
        """Return the one model, or the two, that a request names."""
        if not isinstance(names, list) or len(names) not in (1, 2):
            raise DataError(f"expected a list of one model or two, found {names!r:.80}")
        for name in names:
            if not isinstance(name, str) or name not in self.aligners:
                raise DataError(f"there is no model {name!r:.80}")
        return {name: self.aligners[name] for name in names}


def _align_typed_pairs(pairs: list[SentencePair], models: Mapping[str, na.Aligner]) -> list[na.SamplePair]:
    """Return pairs as the first model aligns them, with the links and weights of the other models.

    If the models split the text into different tokens, all show the space-separated words.
    """
    from nmtalign.aligner.opening import fit_text
    from nmtalign.report.chosen_pairs import CorpusRecord, align_for_report

    tokens = {tuple(map(aligner.tokens_of, pairs)) for aligner in models.values()}
    records = [CorpusRecord(n, pair, None, {}, typed=len(tokens) == 1) for n, pair in enumerate(pairs, 1)]
    # the positions of vectors are fitted to the pairs that were typed
    fitted = [fit_text(aligner, pairs)[0] for aligner in models.values()]
    shown, *others = (align_for_report(records, aligner) for aligner in fitted)
    for name, shown_by_other in zip(list(models)[1:], others, strict=True):
        shown = [pair.beside(name, other.aligned) for pair, other in zip(shown, shown_by_other, strict=True)]
    return shown


def _split_pairs(source: str, target: str) -> list[tuple[str, str]]:
    """Return the lines of two texts, pair by pair."""
    sides = [text.strip("\r\n").replace("\r\n", "\n").split("\n") for text in (source, target)]
    if len(sides[0]) != len(sides[1]):
        found = f"found {len(sides[0])} and {len(sides[1])}"
        raise DataError(f"expected the same number of lines on both sides, {found}")
    return list(zip(*sides, strict=True))


class DeadlineReader(io.RawIOBase):
    """Reads from a connection until a deadline.

    A time-out of the socket would apply to each read: a client that sends single bytes could go on forever.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _RequestHandler(BaseHTTPRequestHandler):
    """Answers one request to the server."""

    server: Server
    timeout = REQUEST_SECONDS
    server_version, sys_version = "nmtalign", ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(DeadlineReader(self.connection, self.timeout))

    def do_GET(self) -> None:
        if self._is_allowed("/"):
            self._send(HTTPStatus.OK, "text/html; charset=utf-8", self.server.page)

    def do_POST(self) -> None:
        if not self._is_allowed("/pairs"):
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Origin", "").removeprefix("http://") not in self.server.names:
            self._refuse(HTTPStatus.FORBIDDEN, "requests are accepted only from the page of this server")
        elif self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        elif not (length.isascii() and length.isdigit() and len(length) < 10):
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "expected a Content-Length")
        elif int(length) > MAX_REQUEST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {MAX_REQUEST_BYTES:,} bytes")
        else:
            try:
                self._send_json(HTTPStatus.OK, self.server.answer(self.rfile.read(int(length))))
            except (NmtalignError, UnicodeDecodeError) as error:
                self._refuse(HTTPStatus.OK, str(error))  # for the page to show

    def _is_allowed(self, page: str) -> bool:
        """Return whether a request is for `page` and names this server; otherwise answer with an error.

        The check of the host prevents DNS rebinding: another site whose name points to this machine.
        """
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.names:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST, f"expected the address {self.server.address}")
            return False
        if self.path != page:
            self._refuse(HTTPStatus.NOT_FOUND, "not found")
        return self.path == page

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send_json(status, {"error": text})

    def _send_json(self, status: HTTPStatus, data: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(data, allow_nan=False).encode())

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.connection.settimeout(self.timeout)  # the time of the request may be nearly over
        self.send_response(status)
        for name, value in (_HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: Any) -> None:
        """Log nothing, because requests contain the text that a person typed."""

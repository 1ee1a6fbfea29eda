"""``nmtalign serve``: what its page asks is answered, and nobody else is."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from threading import Thread
from typing import Any

import numpy as np
import pytest

from nmtalign import Aligner, load
from nmtalign.cli import main
from nmtalign.cli.commands import serve_command
from nmtalign.cli.commands.serve_command import MAX_REQUEST_BYTES, Server
from nmtalign.display import visible
from nmtalign.text.tokenization import TextSettings
from tests.aligner.toy_language import toy_bitext, toy_training
from tests.report.sample_pairs import HOSTILE_WORDS, data_of, inflated

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    models = {name: toy_training(name).aligner for name in ("default", "fast")}
    with Server(models, ("the cat", "le chat"), 0) as served:
        thread = Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def send(
    server: Server, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[HTTPResponse, bytes]:
    """Send a request; `headers` are called as in ``Content_Type``."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    answer = connection.getresponse()
    return answer, answer.read()


def ask(server: Server, value: Any, **headers: str) -> tuple[int, Any]:
    """Ask for an alignment as the page does; return status and answer."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    origin = f"http://127.0.0.1:{server.server_port}"
    headers = {"Content_Type": "application/json", "Origin": origin} | headers
    answer, text = send(server, "POST", "/pairs", body, **headers)
    return answer.status, json.loads(text)


def pair(source: str = "a b", target: str = "c d", *models: Any) -> dict[str, Any]:
    return {"models": models or ["default"], "source": source, "target": target}


def test_a_long_text_does_not_hold_up_a_short_one(server: Server) -> None:
    with server.aligning["long"]:
        assert ask(server, pair())[0] == 200


def test_the_page_is_one_file_under_its_own_policy(server: Server) -> None:
    answer, page = send(server, "GET", "/")
    assert (answer.status, answer.headers.get_content_type()) == (200, "text/html")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    (policy,) = re.findall(
        r'http-equiv="Content-Security-Policy" content="(.*?)"', " ".join(page.decode().split())
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy


def test_pairs_are_aligned_as_by_the_library(server: Server) -> None:
    ((source, target),) = toy_bitext(1, seed=5).pairs
    status, answer = ask(server, pair(f"{source}\n{source}", f"{target}\r\n{target}\n", "fast"))
    made = toy_training("fast").aligner.align(source, target)
    assert status == 200
    assert [shown["n"] for shown in answer["pairs"]] == [1, 2]
    links = answer["pairs"][1]["l"]
    assert list(zip(links[::3], links[1::3], strict=True)) == made.links
    assert answer["settings"] == made.description


def test_two_models_align_the_same_pair(server: Server) -> None:
    ((source, target),) = toy_bitext(1, seed=5).pairs
    status, answer = ask(server, pair(source, target, "fast", "default"))
    assert (status, answer["others"], answer["compare"]) == (200, ["default"], "0")
    [shown] = answer["pairs"]
    own, other = (toy_training(name).aligner.align(source, target) for name in ("fast", "default"))
    assert list(zip(shown["l"][::3], shown["l"][1::3], strict=True)) == own.links
    assert list(zip(shown["o"][0][::2], shown["o"][0][1::2], strict=True)) == other.links
    low, high, at = shown["m"]["=0"]
    levels = np.frombuffer(inflated(answer["weights"]), np.uint8)[at : at + other.matrix.weights.size]
    weights = low + (high - low) * levels.reshape(other.matrix.weights.shape) / 255
    np.testing.assert_allclose(weights, other.matrix.weights, atol=(high - low) / 500)


def test_models_that_cut_words_otherwise_are_compared_by_words_between_spaces() -> None:
    aligner = toy_training("fast").aligner
    models = {"space": aligner, "simple": replace(aligner, text_settings=TextSettings("simple"))}
    with Server(models, ("", ""), 0) as served:
        for names in (["space", "simple"], ["simple", "space"]):
            answer = served.answer(json.dumps(pair("a (b).", "c d.", *names)).encode())
            assert (answer["pairs"][0]["s"], answer["pairs"][0]["t"]) == (["a", "(b)."], ["c", "d."])
        alone = served.answer(json.dumps(pair("a (b).", "c d.", "simple")).encode())
        assert alone["pairs"][0]["s"] == ["a", "(", "b", ")", "."]


def test_each_head_is_shown_by_itself(server: Server) -> None:
    heads = toy_training("default").aligner.scorer.names
    assert len(heads) > 1
    _, answer = ask(server, pair())
    assert answer["views"][-len(heads) :] == list(answer["pairs"][0]["m"])[-len(heads) :] == list(heads)


def test_hostile_words_come_back_as_words(server: Server) -> None:
    words = [word for word in HOSTILE_WORDS if word]
    status, answer = ask(server, pair(" ".join(words), "a\x00b \x1b[2J"))
    assert status == 200
    assert answer["pairs"][0]["s"] == [visible(word) for word in words]
    assert answer["pairs"][0]["t"] == ["a⟨U+0000⟩b", "⟨U+001B⟩[2J"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (b"{", "expected JSON"),
        (b"\xff", "invalid start byte"),
        (b"[" * 50_000, "expected JSON"),
        (b"[]", "expected an object with models, source and target"),
        ({"models": ["default"], "source": "a"}, "expected an object"),
        ({"models": ["default"], "source": "a", "target": ["b"]}, "expected an object"),
        (pair("a", "b", "default", "fast", "default"), "expected a list of one model or two"),
        (pair("a", "b") | {"models": "default"}, "expected a list of one model or two"),
        (pair("a", "b", "default", ["fast"]), "there is no model ['fast']"),
        (pair("a", "b", "../../etc"), "there is no model '../../etc'"),
        (pair("a\nb", "c"), "the same number of lines on both sides, found 2 and 1"),
        (pair("a\n" * 20 + "a", "a\n" * 20 + "a"), "found 21 pairs"),
        (pair("a " * 401, "b"), "longest sentence of 401 words"),
        (b'{"models": ["default"], "source": "\\ud83d", "target": "b"}', "an unpaired surrogate"),
    ],
)
def test_what_makes_no_sense_is_one_line(server: Server, value: Any, told: str) -> None:
    status, answer = ask(server, value)
    assert status == 200
    assert told in answer["error"]


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1:{}.evil.example", ""]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/pairs")])
def test_other_hosts_are_refused(server: Server, host: str, method: str, path: str) -> None:
    """A page whose name is made to point at this machine (DNS rebinding) gets nothing."""
    answer, body = send(server, method, path, b"{}", Host=host.format(server.server_port))
    assert answer.status == 421
    assert b"expected the address" in body


def test_two_hosts_or_none_are_refused(server: Server) -> None:
    port = server.server_port
    for hosts in ("", f"Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(f"GET / HTTP/1.1\r\n{hosts}\r\n".encode())
            assert b" 421 " in connection.recv(100)


def test_its_own_names_are_accepted(server: Server) -> None:
    port = server.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert send(server, "GET", "/", Host=host)[0].status == 200
        assert ask(server, pair(), Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "http://127.0.0.1", "https://127.0.0.1:{}"]
)
def test_pages_of_other_sites_may_not_ask(server: Server, origin: str) -> None:
    status, answer = ask(server, pair(), Origin=origin.format(server.server_port))
    assert (status, answer["error"]) == (403, "requests are accepted only from the page of this server")


def test_a_form_of_another_site_may_not_ask(server: Server) -> None:
    assert ask(server, pair(), Content_Type="text/plain")[0] == 415
    assert send(server, "POST", "/pairs", b"{}", Content_Type="application/json")[0].status == 403


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "/../../etc/passwd", "//etc/passwd", "/%2e%2e/", "/?x", "/pairs", "*", "/\x7f"]
)
def test_there_are_no_files(server: Server, path: str) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        assert b" 404 " in connection.recv(100)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert send(server, method, "/")[0].status == 501


@pytest.mark.parametrize(
    ("length", "status"),
    [(str(MAX_REQUEST_BYTES + 1), 413), ("9" * 400, 411), ("-1", 411), ("x", 411), ("1e3", 411), ("²", 411)],
)
def test_huge_bodies_are_not_read(server: Server, length: str, status: int) -> None:
    own = f"127.0.0.1:{server.server_port}"
    head = (
        f"POST /pairs HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: {length}\r\n\r\n".encode())
        assert f" {status} ".encode() in connection.recv(100)


def test_a_body_that_does_not_come_holds_nobody_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert serve_command._RequestHandler.timeout == serve_command.REQUEST_SECONDS
    monkeypatch.setattr(serve_command._RequestHandler, "timeout", 0.1)
    own = f"127.0.0.1:{server.server_port}"
    head = (
        f"POST /pairs HTTP/1.1\r\nHost: {own}\r\nOrigin: http://{own}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(f"{head}Content-Length: 10\r\n\r\n[".encode())
        assert send(server, "GET", "/")[0].status == 200
        assert connection.recv(100) == b""


def drip(connection: socket.socket, text: bytes, pause: float) -> float:
    """Send a byte at a time until nobody listens; return the seconds that took."""
    began = time.monotonic()
    with suppress(OSError):
        for byte in text:
            connection.sendall(bytes([byte]))
            time.sleep(pause)
    return time.monotonic() - began


@pytest.mark.parametrize(
    "start", ["GET / HTTP/1.1\r\nX: ", "POST /pairs HTTP/1.1\r\n{head}Content-Length: 9999\r\n\r\n"]
)
def test_a_byte_at_a_time_holds_a_thread_for_a_bounded_time(
    server: Server, monkeypatch: pytest.MonkeyPatch, start: str
) -> None:
    monkeypatch.setattr(serve_command._RequestHandler, "timeout", 0.3)
    own = f"127.0.0.1:{server.server_port}"
    head = f"Host: {own}\r\nOrigin: http://{own}\r\nContent-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(start.format(head=head).encode())
        assert 0.2 < drip(connection, b"x" * 500, 0.02) < 5  # ten seconds, if each byte had its own time
    assert send(server, "GET", "/")[0].status == 200


def test_connections_beyond_a_number_are_closed(server: Server) -> None:
    taken = [server.free.acquire(timeout=10) for _ in range(serve_command.MAX_CONNECTIONS)]
    assert all(taken)  # those of other tests are over
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        assert connection.recv(100) == b""
    server.free.release(len(taken))
    assert send(server, "GET", "/")[0].status == 200


def test_it_listens_on_this_machine_alone(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"


def test_what_is_typed_is_not_logged(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    ask(server, pair("secret", "secret"))
    ask(server, b"secret")
    assert capfd.readouterr() == ("", "")


def test_the_command_serves_until_it_is_interrupted() -> None:
    command = [sys.executable, "-m", "nmtalign", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        told = process.stderr.readline()
        port = int(re.search(r"Open http://127\.0\.0\.1:(\d+)/ in a browser; Ctrl-C stops", told)[1])
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        page = connection.getresponse().read().decode()
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 0
        assert process.stderr.read() == ""
    assert data_of(page)["example"][1].startswith("L' accord sur la zone")


def test_vectors_have_the_defaults_of_all_commands(monkeypatch) -> None:
    served: dict[str, Aligner] = {}

    def no_server(aligners, *_) -> None:
        served.update(aligners)
        raise OSError("taken")

    monkeypatch.setattr(serve_command, "Server", no_server)
    with pytest.raises(SystemExit):
        main(["serve", "--model", "en_fr_model", "--vectors", "en_fr_vectors"])
    expected = load("en_fr_vectors", positions="hmm", unknown="backoff")
    assert served["en_fr_vectors"].description == expected.description


def test_a_port_that_is_taken_and_models_of_one_name(
    server: Server, capsys: pytest.CaptureFixture[str], tmp_path
) -> None:
    folders = [tmp_path / name / "model" for name in "ab"]
    for folder in folders:
        toy_training().aligner.save(folder)
    for code, told, *options in (
        (2, "choose another port, or 0", "--model", folders[0], "--port", server.server_port),
        (2, "two models have the same folder name", "--model", folders[0], "--model", folders[1]),
        (3, "found no model", "--model", "en_fr_vectors"),
        (3, "this is a learned model; use --model", "--vectors", folders[0]),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["serve", *map(str, options)])
        assert caught.value.code == code
        assert told in capsys.readouterr().err

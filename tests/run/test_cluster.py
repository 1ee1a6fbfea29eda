"""A dask cluster: the bytes of one worker, whatever happens to the workers."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nmtalign.aligner.opening import fit_to, load
from nmtalign.errors import DataError, UsageError, WorkerError
from nmtalign.files.paths import bundled_path
from nmtalign.run import cluster as cluster_module
from nmtalign.run.cluster import align_on_cluster, connected
from nmtalign.run.shards import ShardRun
from nmtalign.run.stream import align_chunks
from nmtalign.text.bitext import read_bitext
from nmtalign.text.chunks import iter_chunks
from tests.cli.running import run

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("answer", "says"),
    [(b"", "keeps silent"), (b"HTTP/1.0 400 Bad\r\n\r\n" * 9, "no dask scheduler answers")],
)
def test_another_server_than_a_scheduler_is_told(answer, says, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):  # the server is closed
                kept = []
                while True:
                    kept.append(server.accept()[0])
                    kept[-1].sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with (
            pytest.raises(UsageError, match=says),
            connected(f"tcp://127.0.0.1:{server.getsockname()[1]}", 1),
        ):
            pass


OUTPUTS = {"-o": "links", "--probabilities": "scores", "--pair-scores": "pair-scores"}


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> tuple[Path, Path]:
    """267 pairs, some with an empty side."""
    folder = tmp_path_factory.mktemp("text")
    for side, last in (("en", "\nno\n\n"), ("fr", "\nnon\nle\n")):
        lines = (bundled_path("en_fr_sample") / f"text.tok.{side}").read_text(encoding="utf-8")
        (folder / side).write_text(lines + last, encoding="utf-8")
    return folder / "en", folder / "fr"


@pytest.fixture(scope="module")
def wanted(text) -> dict[str, bytes]:
    folder = text[0].parent / "wanted"
    folder.mkdir()
    assert run("align", *text, *files(folder), "--workers", 1) == 0
    return found(folder)


@pytest.fixture
def command(text, tmp_path, client) -> list[object]:
    on_cluster = ["--engine", "dask", "--scheduler", client.scheduler.address]
    return ["align", *text, "--out-shards", tmp_path / "shards", "--shard-pairs", 33, *on_cluster]


def files(folder: Path) -> list[str]:
    return [part for option, name in OUTPUTS.items() for part in (option, str(folder / name))]


def found(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in OUTPUTS.values() if (folder / name).exists()}


def workers(client) -> dict[str, int]:
    return dict(client.run(os.getpid))


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_shards_of_a_cluster_are_those_of_one_worker(command, wanted, tmp_path, client):
    assert run(*command, *files(tmp_path)) == 0
    assert found(tmp_path) == wanted
    plugins = client.run(lambda dask_worker: list(dask_worker.plugins))
    assert not [name for names in plugins.values() for name in names if name.startswith("nmtalign")]


def test_a_cluster_of_our_own_listens_to_this_machine_only(client):
    psutil = pytest.importorskip("psutil")
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    sockets = [socket for process in processes for socket in process.net_connections("inet")]
    listening = {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN}
    assert listening == {"127.0.0.1"}


def test_one_file_without_shards(text, wanted, client, tmp_path):
    on_cluster = ["--engine", "dask", "--scheduler", client.scheduler.address]
    assert run("align", *text, *files(tmp_path), *on_cluster) == 0
    assert found(tmp_path) == wanted


@pytest.mark.parametrize("settings", [{}, {"positions": "hmm"}])
def test_given_vectors_travel_too(settings, client):
    folder = bundled_path("en_fr_sample")
    pairs = list(read_bitext(folder / "text.tok.en", folder / "text.tok.fr"))
    aligner = fit_to(load("en_fr_vectors", **settings), pairs)
    own = list(align_on_cluster(client, aligner, iter_chunks(pairs, chunk_size=90)))
    for chunk, alone in zip(
        own, align_chunks(aligner, iter_chunks(pairs, chunk_size=90), workers=1), strict=True
    ):
        assert chunk.lines == alone.lines
        assert (chunk.first, chunk.coverage) == (alone.first, alone.coverage)
        assert [chunk.batch.links(n) for n in range(len(chunk.lines))] == [
            alone.batch.links(n) for n in range(len(alone.lines))
        ]


@pytest.mark.parametrize(("first", "second"), [("dask", "local"), ("local", "dask")])
def test_a_run_goes_on_with_another_engine(first, second, command, wanted, tmp_path, monkeypatch):
    by = {"dask": command, "local": command[:7]}
    assert command[7] == "--engine"
    plain, written = ShardRun.write, []

    def stopping(self, chunk):
        written.append(chunk.first)
        if len(written) == 4:
            raise KeyboardInterrupt
        plain(self, chunk)

    with monkeypatch.context() as patch:
        patch.setattr(ShardRun, "write", stopping)
        assert run(*by[first], *files(tmp_path)) == 4
    assert len(list((tmp_path / "shards").glob("0*.json"))) == 3
    assert run(*by[second], *files(tmp_path), "--resume") == 0
    assert found(tmp_path) == wanted


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_worker_costs_nothing_but_time(command, wanted, tmp_path, monkeypatch, client):
    before = workers(client)
    plain, killed = ShardRun.write, []

    def killing(self, chunk):
        if not killed:
            killed.append(next(iter(before.values())))
            os.kill(killed[0], signal.SIGKILL)
        plain(self, chunk)

    monkeypatch.setattr(ShardRun, "write", killing)
    assert run(*command, *files(tmp_path)) == 0
    assert killed
    assert found(tmp_path) == wanted
    wait_for(lambda: len(client.nthreads()) == 2)
    assert set(workers(client).values()) != set(before.values())


def test_faults_of_the_data_are_told_as_ever(client):
    def broken():
        yield from iter_chunks(
            read_bitext(*(bundled_path("en_fr_sample") / f"text.tok.{x}" for x in ("en", "fr")))
        )
        raise DataError("expected a line, found none")

    with pytest.raises(DataError, match="found none"):
        list(align_on_cluster(client, load(), broken()))


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_ctrl_c_ends_a_cluster_of_our_own_and_can_be_resumed(text, wanted, tmp_path):
    for side, path in zip(("en", "fr"), text, strict=True):
        (tmp_path / side).write_bytes(path.read_bytes() * 4)
    arguments = ["align", tmp_path / "en", tmp_path / "fr", "--out-shards", tmp_path / "shards"]
    arguments += ["--shard-pairs", 30, "--engine", "dask", "--workers", 1]
    program = [sys.executable, "-m", "nmtalign", *map(str, arguments)]
    process = subprocess.Popen(program, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for(lambda: list((tmp_path / "shards").glob("0*.json")))
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 4, told
    assert "--resume resumes the run" in told
    assert "Traceback" not in told
    assert run(*arguments[:7], "--resume", "-o", tmp_path / "links", "--workers", 1) == 0
    assert (tmp_path / "links").read_bytes() == wanted["links"] * 4


def test_what_cannot_be_reached_is_said(text, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 0.3)
    monkeypatch.setattr(cluster_module, "RETRY_SECONDS", 0)
    nowhere = ["align", *text, "--out-shards", tmp_path / "shards", "--scheduler"]
    for address in ("tcp://127.0.0.1:9", "127.0.0.1"):
        assert run(*nowhere, address, "--engine", "dask") == 2
        assert address in capsys.readouterr().err
        assert not (tmp_path / "shards").exists()
    assert run(*nowhere, "tcp://127.0.0.1:9") == 2
    assert "--engine dask" in capsys.readouterr().err
    assert run(*nowhere, "tcp://127.0.0.1:9", "--engine", "dask", "--workers", 2) == 2


def test_without_dask_the_extra_is_named(text, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run("align", *text, "--engine", "dask") == 2
    assert "nmtalign[dask]" in capsys.readouterr().err


def test_workers_of_another_version_are_refused(client, monkeypatch):
    monkeypatch.setattr(cluster_module, "__version__", "0.0.0")
    with pytest.raises(UsageError, match=r"this machine 0\.0\.0"), connected(client.scheduler.address, 1):
        pass


def test_a_worker_that_dies_while_all_are_asked_is_passed_over(client, monkeypatch):
    from distributed import Client

    plain, failures = Client.register_plugin, [OSError("stream is closed")]

    def failing(self, *given, **options):
        if failures:
            raise failures.pop()
        return plain(self, *given, **options)

    monkeypatch.setattr(Client, "register_plugin", failing)
    run_plain = Client.run
    answers = {"tcp://dead": OSError("stream is closed")}
    monkeypatch.setattr(Client, "run", lambda *a, **k: run_plain(*a, **k) | answers)
    with connected(client.scheduler.address, 1) as other:
        pair = next(
            iter(read_bitext(*(bundled_path("en_fr_sample") / f"text.tok.{x}" for x in ("en", "fr"))))
        )
        assert len(list(align_on_cluster(other, load(), iter_chunks([pair])))) == 1
    answers["tcp://none"] = ModuleNotFoundError("No module named 'nmtalign'")
    with pytest.raises(UsageError, match="No module"), connected(client.scheduler.address, 1):
        pass


def test_a_scheduler_without_workers_is_told_of(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(cluster_module, "START_SECONDS", 1)
    with (
        LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address=":0") as cluster,
        pytest.raises(UsageError, match="no workers; start some"),
        connected(cluster.scheduler_address, 1),
    ):
        pass


def test_the_model_goes_to_each_worker_once_and_with_no_chunk(client, monkeypatch):
    from distributed import Client

    sent, calls = [], []
    plugin, submit = Client.register_plugin, Client.submit
    monkeypatch.setattr(Client, "register_plugin", lambda *a, **k: (sent.append(1), plugin(*a, **k))[1])

    def counted(self, function, *given, **options):
        calls.append(len(pickle.dumps(given)))
        return submit(self, function, *given, **options)

    monkeypatch.setattr(Client, "submit", counted)
    folder = bundled_path("en_fr_sample")
    pairs = list(read_bitext(folder / "text.tok.en", folder / "text.tok.fr"))
    list(align_on_cluster(client, load(), iter_chunks(pairs, chunk_size=50)))
    text = sum(len(line.encode()) for pair in pairs for line in pair)
    assert len(sent) == 1
    assert text < sum(calls) < 1.2 * text


def test_a_scheduler_that_goes_ends_the_run(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.chdir(tmp_path)  # workers of this process leave a folder here
    folder = bundled_path("en_fr_sample")
    pairs = read_bitext(folder / "text.tok.en", folder / "text.tok.fr")
    monkeypatch.setattr(cluster_module, "CONNECT_SECONDS", 1)
    cluster = LocalCluster(n_workers=1, processes=False, protocol="tcp", dashboard_address=":0")
    with connected(cluster.scheduler_address, 1) as client:
        chunks = align_on_cluster(client, load(), iter_chunks(pairs, chunk_size=20))
        next(chunks)
        cluster.close()
        with pytest.raises(WorkerError, match="scheduler"):
            list(chunks)


def test_a_result_that_comes_as_the_workers_are_counted_is_taken(client, monkeypatch):
    monkeypatch.setattr(cluster_module, "CHECK_SECONDS", 0.005)
    processes = cluster_module.ClusterProcesses(client)
    delays = [0.001 * n for n in range(30)]
    results = processes.in_order(sleep_and_return, delays)
    assert [result for _, result in results] == delays


def sleep_and_return(pickled: bytes) -> float:
    seconds: float = pickle.loads(pickled)
    time.sleep(seconds)
    return seconds


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no SIGSTOP here")
def test_a_worker_that_is_paused_keeps_its_result(monkeypatch):
    monkeypatch.setattr(cluster_module, "CHECK_SECONDS", 0.2)
    with connected(None, 2) as client:
        processes = cluster_module.ClusterProcesses(client)
        future = client.submit(bytes, 3_000_000, pure=False)
        wait_for(future.done)
        (address,) = next(iter(client.who_has([future]).values()))
        process = workers(client)[address]
        os.kill(process, signal.SIGSTOP)
        threading.Timer(1.5, os.kill, (process, signal.SIGCONT)).start()
        assert len(processes._answer(future)) == 3_000_000


def test_an_error_of_the_call_is_no_time_out_of_the_cluster(client):
    processes = cluster_module.ClusterProcesses(client)
    with pytest.raises(TimeoutError, match="of the call"):
        list(processes.in_order(raise_timeout, ["of the call"]))


def raise_timeout(pickled: bytes) -> None:
    raise TimeoutError(pickle.loads(pickled))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("tcp://127.0.0.1:9", "no program listens there"),
        ("tcp://no-such-host.invalid:8786", "host is not found"),
    ],
)
def test_a_refused_connection_is_not_called_silence(address, says, monkeypatch):
    monkeypatch.setattr(cluster_module, "RETRY_SECONDS", 0)
    with pytest.raises(UsageError, match=says), connected(address, 1):
        pass


# The program with small chunks and a log of each half second. A lost scheduler has one second to come back.
IMPATIENT = """
from nmtalign.run import cluster
from nmtalign.cli import main, messages
from nmtalign.text import chunks
chunks.PAIRS_PER_CHUNK = 500
cluster.CONNECT_SECONDS = 1
messages.LOG_SECONDS = 0.5
main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_a_killed_scheduler_is_one_line_of_the_log(text, tmp_path):
    for side, path in zip(("en", "fr"), text, strict=True):
        (tmp_path / side).write_bytes(path.read_bytes() * 100)
    start = "from distributed import LocalCluster; import time\n"
    start += "cluster = LocalCluster(n_workers=1, processes=False, protocol='tcp', dashboard_address=':0')\n"
    start += "print(cluster.scheduler_address, flush=True); time.sleep(600)"
    program = [sys.executable, "-c", start]
    scheduler = subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path
    )
    try:
        address = scheduler.stdout.readline().strip()
        arguments = [tmp_path / "en", tmp_path / "fr", "-o", tmp_path / "links", "--log-json"]
        arguments += ["--engine", "dask", "--scheduler", address]
        program = [sys.executable, "-c", IMPATIENT, "align", *map(str, arguments)]
        with open(tmp_path / "log", "w+") as log:
            process = subprocess.Popen(program, stderr=log)
            wait_for(lambda: "pairs" in (tmp_path / "log").read_text())
            scheduler.kill()
            assert process.wait(timeout=60) == 1
    finally:
        scheduler.kill()
        scheduler.wait()
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(line.startswith("{") for line in lines), lines
    assert "the scheduler of the cluster is lost" in lines[-1]
    assert not (tmp_path / "links").exists()

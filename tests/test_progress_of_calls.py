"""The parameter `progress`: a bar on stderr, a function that is called, a bar in a notebook."""

from __future__ import annotations

import threading
from itertools import pairwise

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import nmtalign as na
from nmtalign import progress as progress_module

PAIRS = [("the black cat", "le chat noir"), ("a house", "une maison"), ("", "rien")] * 10
LONG_PAIR = ("word " * 700, "mot " * 700)  # is aligned in pieces


@pytest.fixture
def every_update(monkeypatch) -> None:
    """Tell displays every change, however fast it comes."""
    monkeypatch.setattr(progress_module.ProgressDisplay, "seconds_between_updates", -1.0)


def assert_rises(calls: list[na.Progress]) -> None:
    """Check that `done` never falls within a stage, and never exceeds `total`."""
    for call in calls:
        assert isinstance(call, na.Progress)
        assert call.total is None or 0 <= call.done <= call.total
    for before, after in pairwise(calls):
        assert after.done >= before.done or after.stage != before.stage
    assert calls[-1].done == calls[-1].total


def test_aligning_counts_pairs(every_update):
    calls: list[na.Progress] = []
    aligner = na.load()
    pairs = [*PAIRS, LONG_PAIR]
    batch = aligner.align_batch(pairs, progress=calls.append)
    assert_rises(calls)
    assert {(call.stage, call.total) for call in calls} == {("aligning", 31)}
    # the pairs with an empty side need no work; the pieces of the long pair count as one pair
    assert calls[-2].done == 21
    assert calls[-1] == na.Progress("aligning", 31, 31, "31 pairs aligned")
    without = aligner.align_batch(pairs)
    assert batch.links(0) == without.links(0)
    np.testing.assert_array_equal(batch.probability, without.probability)


@pytest.mark.parametrize("expert", [False, True])
def test_training_reads_and_then_learns_in_steps(every_update, expert):
    calls: list[na.Progress] = []
    links = ["0-0", "0-0", ""] * 10 if expert else None
    learned = na.train(PAIRS, preset="fast", expert=links, workers=1, progress=calls.append)
    assert_rises(calls)
    assert learned.training["corpus"]["pairs"] == 30
    reading = [call for call in calls if call.stage == "reading"]
    learning = calls[len(reading) :]
    assert [call.done for call in reading] == [*range(1, 31), 30]
    assert reading[-1] == na.Progress("reading", 30, 30, "30 pairs read")
    assert {call.stage for call in learning} == {"learning"}
    # the word pairs; 2 iterations of model 1 and 2 of the Markov model, twice with an expert; the model
    steps = 10 if expert else 6
    assert {call.total for call in learning} == {steps}
    assert sorted({call.done for call in learning}) == list(range(1, steps + 1))
    assert learning[1].message == "model 1, iteration 1 of 2"
    assert learning[-1].message == "learned from 30 pairs"


def test_learning_attention_counts_passes(every_update):
    calls: list[na.Progress] = []
    na.learn_attention(PAIRS, "en_fr_vectors", model=na.load(), units=4, progress=calls.append)
    assert_rises(calls)
    *passes, last = calls
    assert [call.done for call in passes] == list(range(1, len(passes) + 1))
    for call in passes:
        assert call.message.startswith(f"pass {call.done} of at most {call.total}: held-out loss ")
    assert last.message == "attention learned from 20 pairs"


def test_linking_counts_pairs(every_update, monkeypatch):
    monkeypatch.setattr("nmtalign.external.links_from.PAIRS_IN_MEMORY", 2)
    calls: list[na.Progress] = []
    pairs = [("a b", "x y")] * 5
    similarities = [np.eye(2)] * 5
    batch = na.links_from(pairs, similarities=similarities, progress=calls.append)
    assert [(call.stage, call.done, call.total) for call in calls] == [
        ("linking", 2, 5),
        ("linking", 4, 5),
        ("linking", 5, 5),
        ("linking", 5, 5),
    ]
    assert batch.links(4) == [(0, 0), (1, 1)]


def test_a_function_is_not_called_for_every_pair():
    calls: list[na.Progress] = []
    na.train(PAIRS * 20, preset="fast", workers=1, progress=calls.append)
    assert sum(call.stage == "reading" for call in calls) < 50


def test_an_error_of_the_function_ends_the_call(every_update):
    def stop(progress: na.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        na.load().align_batch(PAIRS, progress=stop)


def test_progress_is_a_bool_or_a_function():
    for refused in ("yes", 1, None):
        with pytest.raises(na.UsageError, match="expected True, False or a function as `progress`, found"):
            na.links_from([("a", "b")], similarities=[np.eye(1)], progress=refused)
    na.links_from([("a", "b")], similarities=[np.eye(1)], progress=np.False_)


def test_a_bar_ends_with_all_of_the_work_done(every_update, capsys):
    na.load().align_batch(PAIRS, progress=True)
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert shown.split("\r")[-1].startswith("100%|")
    assert "30/30" in shown
    assert shown.endswith("30 pairs aligned]\n")
    na.train(PAIRS, preset="fast", workers=1, progress=True)
    shown = capsys.readouterr().err
    assert "30 pairs read" in shown
    assert "model 1, iteration 1 of 2" in shown
    assert shown.endswith("learned from 30 pairs\n")


def test_a_bar_starts_no_thread_beside_which_work_could_not_be_forked(every_update, capsys):
    threads = threading.active_count()
    calls = []
    original = progress_module.ProgressBar.show

    def show(bar: progress_module.ProgressBar, *message: object) -> None:
        original(bar, *message)
        calls.append(threading.active_count())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress_module.ProgressBar, "show", show)
        na.load().align_batch(PAIRS, progress=True)
    assert set(calls) == {threads}


# --- notebooks -----------------------------------------------------------------------------------

CELL = """\
import nmtalign as na
batch = na.load().align_batch([("the cat", "le chat")] * 3, progress=True)
"""


def outputs_of(*cells: str) -> list[nbformat.NotebookNode]:
    """Run a notebook in a kernel, and return the outputs of its last cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return notebook.cells[-1].outputs


# the kernel of Jupyter warns about sockets and paths
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_without_widgets_shows_a_bar_of_text():
    outputs = outputs_of("import sys; sys.modules['ipywidgets'] = None", CELL)
    assert {output.name for output in outputs} == {"stderr"}
    # a shorter line than the one before it ends with spaces
    assert "".join(output.text for output in outputs).rstrip().endswith("3 pairs aligned]")


@pytest.mark.filterwarnings("ignore")
def test_a_notebook_shows_a_bar():
    pytest.importorskip("ipywidgets")
    [output] = outputs_of(CELL)
    assert "application/vnd.jupyter.widget-view+json" in output.data

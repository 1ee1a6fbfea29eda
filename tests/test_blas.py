"""One thread of BLAS while a model is learned: its bytes do not depend on the number of cores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nmtalign import blas

# Invented pairs, enough of them that OpenBLAS would split the products of the spectral vectors among threads
LEARN = """
import sys
import nmtalign as na
pairs = [(f"the {n % 977} house x{n % 391}", f"la maison {n % 977} x{n % 391}") for n in range(3000)]
na.train(pairs).save(sys.argv[1])
"""


def learn_with_threads(threads: str, folder: Path) -> dict[str, bytes]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads}
    subprocess.run([sys.executable, "-c", LEARN, str(folder)], env=environment, check=True)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_model_learned_in_python_does_not_depend_on_the_threads_of_blas(tmp_path: Path):
    if not blas._libraries():
        pytest.skip("NumPy and SciPy have no OpenBLAS of their own")
    one = learn_with_threads("1", tmp_path / "one")
    two = learn_with_threads("2", tmp_path / "two")
    assert one == two


def test_the_number_of_threads_is_set_back_after_an_error():
    libraries = blas._libraries()
    if not libraries:
        pytest.skip("NumPy and SciPy have no OpenBLAS of their own")
    for _, set_threads in libraries:
        set_threads(2)
    numbers = []

    @blas.one_thread()
    def fail() -> None:
        numbers.extend(get_threads() for get_threads, _ in libraries)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert numbers == [1] * len(libraries)
    assert [get_threads() for get_threads, _ in libraries] == [2] * len(libraries)
    for _, set_threads in libraries:
        set_threads(1)

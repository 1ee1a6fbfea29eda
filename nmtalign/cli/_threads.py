"""One BLAS thread for commands that use threads of their own."""

from __future__ import annotations

import os


def one_blas_thread() -> None:
    """Keep BLAS to one thread, unless the user said otherwise; works only before NumPy is imported.

    Many small products from several threads are many times slower when each of them asks for all cores.
    """
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")

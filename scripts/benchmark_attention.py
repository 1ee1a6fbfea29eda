"""Speed of nmtalign.attention on NumPy beside PyTorch on the CPU, with the same number of threads.

    python scripts/benchmark_attention.py --threads 1

Prints a table of milliseconds for one call (the best of many) and how many times PyTorch's time that is.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

SHAPES = [  # B, T, S, D
    (1, 25, 25, 300),
    (1, 512, 512, 512),
    (64, 25, 25, 300),
]
HEADS, ATTENTION_SIZE = 4, 128
Run = Callable[[], Any]


def scaled_dot_product(B: int, T: int, S: int, D: int) -> tuple[Run, Run]:
    q, k, v = draw(B, T, D), draw(B, S, D), draw(B, S, D)
    tq, tk, tv = map(torch.as_tensor, (q, k, v))
    sdpa = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v).context, lambda: sdpa(tq, tk, tv)


def scores_and_weights(B: int, T: int, S: int, D: int) -> tuple[Run, Run]:
    """The matrix of weights, which an aligner needs and PyTorch's fused kernel does not give."""
    q, k = draw(B, T, D), draw(B, S, D)
    tq, tk = torch.as_tensor(q), torch.as_tensor(k)
    scale = D**-0.5
    return lambda: softmax(scaled_dot(q, k)), lambda: torch.softmax(tq @ tk.mT * scale, dim=-1)


def multi_head_attention(B: int, T: int, S: int, D: int) -> tuple[Run, Run]:
    layer = torch.nn.MultiheadAttention(D, HEADS, batch_first=True).eval()
    x, memory = draw(B, T, D), draw(B, S, D)
    tx, tm = torch.as_tensor(x), torch.as_tensor(memory)
    own = MultiHead.from_torch(layer.state_dict(), HEADS)
    return lambda: multi_head(own, x, memory).context, lambda: layer(tx, tm, tm, average_attn_weights=False)[
        0
    ]


def bahdanau_scores(B: int, T: int, S: int, D: int) -> tuple[Run, Run]:
    q, k = draw(B, T, D), draw(B, S, D)
    W, U, v = draw(D, ATTENTION_SIZE), draw(D, ATTENTION_SIZE), draw(ATTENTION_SIZE)
    tq, tk, tW, tU, tv = map(torch.as_tensor, (q, k, W, U, v))
    return (
        lambda: additive(q, k, W, U, v),
        lambda: torch.tanh((tq @ tW)[..., :, None, :] + (tk @ tU)[..., None, :, :]) @ tv,
    )


KERNELS = [scaled_dot_product, scores_and_weights, multi_head_attention, bahdanau_scores]


def draw(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def best_times(runs: tuple[Run, Run], seconds: float) -> list[float]:
    """Return the least time of one call of each, taken in turns so that both meet the same noise."""
    times = [float("inf")] * len(runs)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or times[-1] == float("inf"):
        for index, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[index] = min(times[index], time.perf_counter() - start)
    return times


def rows(seconds: float) -> Iterator[str]:
    yield "| kernel | B, T, S, D | nmtalign (NumPy), ms | PyTorch, ms | ratio |"
    yield "|---|---|---|---|---|"
    for kernel in KERNELS:
        for shape in SHAPES:
            runs = kernel(*shape)
            np.testing.assert_allclose(runs[0](), runs[1](), rtol=1e-3, atol=1e-3)
            own, other = best_times(runs, seconds)
            name = kernel.__name__.replace("_", " ")
            sizes = ", ".join(map(str, shape))
            yield f"| {name} | {sizes} | {1e3 * own:.3f} | {1e3 * other:.3f} | {own / other:.2f} |"


def main() -> None:
    print(
        f"float32, {options.threads} thread(s), {HEADS} heads, attention size {ATTENTION_SIZE};"
        f" NumPy {np.__version__}, PyTorch {torch.__version__}; {os.cpu_count()} cores\n"
    )
    with torch.inference_mode():
        for row in rows(options.seconds):
            print(row, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1, help="threads for both libraries (default 1)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time spent on each row (default 2)")
    options = parser.parse_args()
    # Both libraries read the number of threads when they are imported.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(options.threads)
    import numpy as np
    import torch

    from nmtalign.attention import MultiHead, additive, attend, multi_head, scaled_dot, softmax

    torch.set_num_threads(options.threads)
    main()

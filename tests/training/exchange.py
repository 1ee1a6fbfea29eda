"""A law of every result store: slices reach their receivers."""

from __future__ import annotations

from nmtalign.training.result_store import ResultStore


def slices_of(sender: str, receivers: list[str]) -> tuple[list[str], str]:
    """Return a slice for each receiver; also the name of the sender."""
    return [f"from {sender} to {receiver}" for receiver in receivers], f"of {sender}"


def check_exchange(store: ResultStore) -> None:
    """Raise an AssertionError unless each receiver gets its slice of each call, in the order of the calls."""
    receivers = ["x", "y", "z"]
    calls = [{"sender": sender, "receivers": receivers} for sender in ("a", "b")]
    for_receivers, others = store.exchange(slices_of, calls, len(receivers))
    assert list(store.read(others)) == ["of a", "of b"]
    received = store.map(joined, [{"slices": slices} for slices in for_receivers])
    assert list(store.read(received)) == [
        "from a to x, from b to x",
        "from a to y, from b to y",
        "from a to z, from b to z",
    ]


def joined(slices: list[str]) -> str:
    return ", ".join(slices)

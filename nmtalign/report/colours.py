"""The colour scale of pages and notebooks, the same as that of the pictures."""

from __future__ import annotations

import functools

import numpy as np

LEVELS = 32


@functools.cache
def scale() -> tuple[str, ...]:
    """Return `LEVELS` colours from dark to light: matplotlib's inferno, readable without colour vision."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return tuple(to_hex(colormaps["inferno"](level)) for level in np.linspace(0, 1, LEVELS))


def is_light(colour: str) -> bool:
    """Tell whether dark text is easier to read on a colour like ``#fcffa4`` (luminance of Rec. 709).

    Examples
    --------
    >>> is_light("#fcffa4"), is_light("#000004")
    (True, False)
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.45 * 255

"""The documentation site: ``make docs`` builds it into out/docs, with warnings as errors.

Notebooks are shown as they are, not run: ``tests/test_notebooks.py`` runs them. Equations become MathML, so
that pages need no network.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from nmtalign import __version__

project = "nmtalign"
author = "The nmtalign founders"
release = version = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
html_theme = "furo"
html_title = f"nmtalign {version}"
html_copy_source = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = partial(re.sub, " ", "-")  # as Jupyter does: notebooks link to their headings
nb_execution_mode = "off"
nb_mime_priority_overrides = [("*", "application/vnd.jupyter.widget-view+json", None)]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings name types and shapes
napoleon_google_docstring = False
napoleon_use_ivar = True


def write_math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write an equation as MathML."""
    block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=block))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Register the renderer of equations."""
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))

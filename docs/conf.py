"""The documentation site: ``make docs`` builds it into out/docs, with warnings as errors.

Notebooks are shown as they are, not run: ``tests/test_notebooks.py`` runs them. Equations become MathML, so
that pages need no network.
"""

from __future__ import annotations

import re
import shutil
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import click
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import nmtalign
from nmtalign.cli.declare import group_by_section
from nmtalign.cli.program import COMMANDS
from nmtalign.files.paths import bundled_path
from nmtalign.links.gold import read_gold
from nmtalign.report.html import cards_page
from nmtalign.report.page_content import SamplePair

project = "nmtalign"
author = "The nmtalign founders"
release = version = nmtalign.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
templates_path = ["templates"]
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # output is not copied
html_theme = "furo"
html_title = f"nmtalign {version}"
html_copy_source = html_show_copyright = smartquotes = False
html_math_renderer = "mathml"
html_static_path = html_css_files = ["site.css"]
html_extra_path = ["card.png", "card_dark.png"]  # named in HTML, which Sphinx does not follow

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_heading_slug_func = partial(re.sub, " ", "-")  # as Jupyter does: notebooks link to their headings
nb_execution_mode = "off"

_OF_NULL = ["target_null", "source_null"]
_OF_RESULTS = ["table", "compare"]
_OF_PICTURES = ["show", "heatmap", "save", *_OF_RESULTS]
# The members of a class that are public, in the order in which a user needs them.
MEMBERS = {
    "Aligner": ["align", "align_batch", "save", "description", "lexicon", "with_scorers"],
    "AlignedPair": ["links", "words", "probability", "tokens", "posterior", *_OF_NULL, "svg", *_OF_PICTURES],
    "AlignedBatch": ["links", "matrices", "heatmap", *_OF_RESULTS],
    "Alignment": ["to_matrix", "from_matrix", "reversed", *_OF_PICTURES],
    "AlignmentMatrix": _OF_PICTURES,
    "Bitext": ["frame"],
    "Embeddings": [
        "of",
        "vectors",
        "coverage",
        "dimension",
        "first",
        "with_unknown",
        "from_gensim",
        "to_gensim",
    ],
    "Evaluation": ["aer", "precision", "recall", "f1", *_OF_RESULTS],
    "ExpectedEvaluation": ["sentence", "to_dict", *_OF_RESULTS],
    "GoldAlignment": [],
    "Link": [],
    "SamplePair": ["chosen_by"],
}
# These are what functions return: nobody needs their signatures.
RETURNED = {"Aligner", "AlignedPair", "AlignedBatch", "Bitext", "Evaluation", "ExpectedEvaluation"}


def directive(class_name: str, member: str) -> str:
    """Return the directive that documents a member of a class of nmtalign."""
    kind = "method" if callable(getattr(getattr(nmtalign, class_name), member)) else "property"
    return f"auto{kind}:: {member}"


autosummary_context = {
    "members_of": {name: [directive(name, member) for member in members] for name, members in MEMBERS.items()}
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings name types and shapes
napoleon_google_docstring = False
napoleon_use_ivar = True


def write_math(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Write an equation as MathML."""
    block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=block))
    raise nodes.SkipNode


def mark_example(app: Any, context: Any, lines: list[str]) -> None:
    """Set the example of a command's help as code."""
    paragraphs = "\n".join(lines).split("\n\n")
    code = [re.sub(r"(?s)^Example: (.*)", r"::\n\n    \1", one) for one in paragraphs]
    lines[:] = "\n\n".join(code).split("\n")


def set_in_sections(app: Any, context: Any, lines: list[str]) -> None:
    """Set the options of a command in the sections of its help."""
    blocks = iter(re.split(r"(?m)^(?=\.\. option::)", "\n".join(lines))[1:])
    shown = [own for own in context.command.params if isinstance(own, click.Option) and not own.hidden]
    block_of = dict(zip(shown, blocks, strict=True))
    sections = group_by_section(shown)
    if len(sections) > 1:
        text = (
            f".. rubric:: {title}\n\n" + "".join(map(block_of.get, own)) for title, own in sections.items()
        )
        lines[:] = "\n".join(text).split("\n")


def hide_signature(
    app: Any, what: str, name: str, own: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Leave out the signature of a class that functions return."""
    return ("", "") if what == "class" and name.removeprefix("nmtalign.") in RETURNED else None


def write_commands(app: Any) -> None:
    """Write a page for each command and the list of them; remove pages of commands that are gone."""
    folder = Path(app.srcdir, "reference", "commands")
    folder.mkdir(exist_ok=True)
    for page_of_old_build in folder.glob("*.rst"):
        if page_of_old_build.stem not in COMMANDS:
            page_of_old_build.unlink()
    texts = {"list.txt": list_of_commands()}
    for name, (module, attribute, _) in COMMANDS.items():
        texts[f"{name}.rst"] = (
            f".. click:: {module}:{attribute}\n   :prog: nmtalign {name}\n   :nested: full\n"
        )
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def list_of_commands() -> str:
    """Return a table of the commands with what they do, and their pages in the navigation."""
    rows = [f"| {{doc}}`{name} <commands/{name}>` | {line} |\n" for name, (_, _, line) in COMMANDS.items()]
    pages = "".join(f"commands/{name}\n" for name in COMMANDS)
    table = "".join(["| command | what it does |\n|---|---|\n", *rows])
    return f"{table}\n```{{toctree}}\n:hidden:\n{pages}```\n"


def write_live_card(app: Any, error: Exception | None) -> None:
    """Write the card of the first page: the first pair of the bundled sample, with its gold links."""
    if error is not None or app.builder.format != "html":
        return
    sample = bundled_path("en_fr_sample")
    source, target = (sample / f"text.tok.{language}" for language in ("en", "fr"))
    pair = next(iter(nmtalign.read_bitext(source, target)))
    gold = read_gold(sample / "gold.pharaoh")[0]
    page = cards_page([SamplePair(1, nmtalign.load().align(*pair), gold)])
    Path(app.outdir, "live_card.html").write_text(page, encoding="utf-8")


def copy_essay(app: Any, error: Exception | None) -> None:
    """Copy the figures of the essay, which Sphinx does not follow, with the colors of the card."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "essay")
    shutil.copytree(Path(app.srcdir, "essay"), folder, dirs_exist_ok=True)
    sheet = resources.files("nmtalign.report").joinpath("assets", "card.css").read_text(encoding="utf-8")
    colors = re.findall(r"(--\w+: light-dark\(.*?\));", sheet)
    rules = "".join(f"  {color};\n" for color in colors)
    (folder / "colors.css").write_text(f".essay {{\n{rules}}}\n", encoding="utf-8")


def make_accessible(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give captions of the navigation a level, and let keys scroll what may be wider than the page."""
    navigation = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = navigation.replace('role="heading"', 'role="heading" aria-level="2"')
    body = context.get("body", "")
    for start in ("<pre", '<div class="table-wrapper', '<div class="math-wrapper'):
        body = re.sub(rf"{start}(?=[ >\"])", rf'{start[:4]} tabindex="0"{start[4:]}', body)
    # an empty head of a column or a row is a cell, of which nothing is read
    context["body"] = re.sub(r"<th([^>]*)>(?:<p></p>)?</th>", r"<td\1></td>", body)


def name_sidebars(app: Any, error: Exception | None) -> None:
    """Give the two sidebars of the theme names, by which screen readers tell them apart."""
    if error is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for sidebar, name in (("sidebar-drawer", "All pages"), ("toc-drawer", "On this page")):
            text = text.replace(f'<aside class="{sidebar}', f'<aside aria-label="{name}" class="{sidebar}')
        page.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    """Register the renderer of equations, and what changes signatures and the help of commands."""
    app.connect("build-finished", name_sidebars)
    app.connect("build-finished", write_live_card)
    app.connect("build-finished", copy_essay)
    app.connect("html-page-context", make_accessible, priority=900)  # after the theme
    app.connect("builder-inited", write_commands)
    app.connect("autodoc-process-signature", hide_signature)
    app.add_html_math_renderer("mathml", (write_math, None), (write_math, None))
    app.connect("sphinx-click-process-description", mark_example)
    app.connect("sphinx-click-process-options", set_in_sections)

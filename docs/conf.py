"""The documentation site: ``make docs``. Pages are Markdown, the reference is docstrings."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

# The docstrings of this checkout, whatever else is installed.
sys.path.insert(0, str(Path(__file__).parents[1]))

from zkconsumer.version import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "zkconsumer"
project_copyright = "the zkconsumer maintainers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns: list[str] = []

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures have them, and docstrings say the rest
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"zkconsumer {release}"
html_copy_source = False


def setup(app: "Sphinx") -> None:
    """Leave the docstrings of attributes as they are: napoleon reads a type before a colon."""
    written: dict[object, list[str]] = {}

    def keep(
        _app: object, what: str, name: str, _of: object, _options: object, lines: list[str]
    ) -> None:
        if what == "attribute":
            written[name] = list(lines)

    def restore(
        _app: object, _what: str, name: str, _of: object, _options: object, lines: list[str]
    ) -> None:
        lines[:] = written.pop(name, lines)

    app.connect("autodoc-process-docstring", keep, priority=400)  # napoleon is in between
    app.connect("autodoc-process-docstring", restore, priority=600)

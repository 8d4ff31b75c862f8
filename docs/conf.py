"""The documentation site: ``make docs``. Pages are Markdown, the reference is docstrings."""

import sys
from pathlib import Path

# The docstrings of this checkout, whatever else is installed.
sys.path.insert(0, str(Path(__file__).parents[1]))

from zkconsumer.version import __version__

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
napoleon_custom_sections = ["Thread", "Source"]

html_theme = "furo"
html_title = f"zkconsumer {release}"
html_copy_source = False

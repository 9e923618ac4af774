"""Sphinx configuration of the documentation site; `make docs` builds it."""

import os
import sys
from importlib import metadata
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

# Notebooks run in separate processes, which inherit this: one thread each, a separate cache of decoded images.
os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
os.environ["CASPER_CACHE"] = str(HERE / "_build" / "cache")
os.environ.pop("CASPER_DATA", None)

project = "casper"
author = "the casper contributors"
copyright = "the casper contributors"
release = version = metadata.version("casper-il")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "api_pages",
]
exclude_patterns = ["_build", "_extensions", "**.ipynb_checkpoints"]

# Pages
html_theme = "furo"
html_title = f"casper {release}"
html_static_path = ["_static"]
html_css_files = ["casper.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

# Markdown and notebooks
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "jupyter_cache")
nb_execution_timeout = 90
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

# API reference, from the docstrings
default_role = "py:obj"
autoclass_content = "both"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

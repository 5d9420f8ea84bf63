"""How the site is built: ``make docs``."""

import sys
import warnings
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

import stakes

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

project = "stakes"
author = "The stakes developers"
copyright = "the stakes developers, BSD 3-Clause"
version = release = stakes.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
    "stakes_pages",
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3
exclude_patterns = ["generated", "Thumbs.db"]
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]

default_role = "autolink"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
# Asked of every docstring: a first line, a description of what is returned, and no parameter that
# there is not. Not asked: that each method of a family describes all parameters again, nor their
# order, which dataclasses inherit.
numpydoc_validation_checks = {
    "GL01",
    "GL05",
    "GL06",
    "GL07",
    "GL08",
    "SS01",
    "SS03",
    "PR02",
    "RT03",
}

# fields of tuples and the methods of dicts have no text of ours
numpydoc_validation_exclude = {r"\.KnownPosterior\.", r"\.TableSize\.", r"\.ValueOfKnowing\."}

html_theme = "pydata_sphinx_theme"
html_title = "stakes"
html_static_path = ["_static"]
html_css_files = ["stakes.css"]
html_js_files = ["tables.js"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {page: [] for page in ("index", "start", "choosing", "faq", "about")}

# Pictures that pages draw themselves: the code is in the page and is a test as well.
plot_include_source = True
plot_html_show_formats = False
plot_html_show_source_link = False
plot_formats = ["svg"]
plot_apply_rcparams = True
plot_rcparams = {
    "figure.figsize": (7, 3.6),
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "stakes",
}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"/(?!plot_)[^/]*\.py$",
    "within_subsection_order": FileNameSortKey,
    "doc_module": ("stakes",),
    "backreferences_dir": "api/examples",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "plot_gallery": "True",
    "reset_modules_order": "both",
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

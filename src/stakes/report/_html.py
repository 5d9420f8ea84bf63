"""The page: templates filled from the summary, with everything inside the one file."""

import base64
import hashlib
from importlib import resources
from typing import Any

from stakes.compare import Comparison
from stakes.report._summarize import summarize
from stakes.utils._optional import import_optional


def render_page(comparison: Comparison, **options: Any) -> str:
    """Return the page of a comparison as one self-contained HTML file.

    It loads nothing, and its content policy forbids it to: one inline script is allowed by
    its hash, and nothing that a label or a cell might smuggle in can run.

    Parameters
    ----------
    comparison : Comparison
        The result of `stakes.compare.compare`.
    **options : dict
        `title`, `command` and `image_shape` of `summarize`.
    """
    jinja2 = import_optional("jinja2", extra="report", purpose="The page")
    summary = summarize(comparison, **options)
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _read("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        s=summary, style=_read("page.css"), script=script, script_hash=digest
    )


def _read(name: str) -> str:
    return resources.files("stakes.report").joinpath("templates", name).read_text("utf-8")

"""The page: templates filled from the summary, with everything inside the one file."""

import base64
import hashlib
from importlib import resources
from typing import Any

from stakes.compare import Comparison
from stakes.monitor import Monitor
from stakes.report._monitor import summarize_monitor
from stakes.report._summarize import summarize
from stakes.utils._optional import import_optional


def render_page(page: Comparison | Monitor, **options: Any) -> str:
    """Return the page of a comparison or a monitor as one self-contained HTML file.

    It loads nothing, and its content policy forbids it to: one inline script is allowed by
    its hash, and nothing that a label or a cell might smuggle in can run.

    Parameters
    ----------
    page : Comparison or Monitor
        The result of `stakes.compare.compare`, or a `stakes.monitor.Monitor`.
    **options : dict
        `title`, `command` and more of `summarize` or `summarize_monitor`.
    """
    jinja2 = import_optional("jinja2", extra="report", purpose="The page")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    style = _read("page.css")
    if isinstance(page, Monitor):
        summary = summarize_monitor(page, **options)
        return environment.get_template("monitor.html").render(s=summary, style=style)
    summary = summarize(page, **options)
    # The page decides by the program that is copied elsewhere.
    program = resources.files("stakes.decision").joinpath("program.js").read_text("utf-8")
    script = f'"use strict";\n{program}\n{_read("page.js")}'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        s=summary, style=style, script=script, script_hash=digest
    )


def _read(name: str) -> str:
    return resources.files("stakes.report").joinpath("templates", name).read_text("utf-8")

"""The doctests of these pages are tests; what the build makes and needs is none."""

import pytest

collect_ignore_glob = ["conf.py", "_ext/*", "api/*", "gallery/*", "generated/*"]


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a page has drawn."""
    yield
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")

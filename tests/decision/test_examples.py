"""The pictures of the gallery that this module draws."""

import re
import runpy
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_smoothing_hurts_asymmetric_costs_more():
    figure = runpy.run_path(str(EXAMPLES / "plot_smoothing.py"))["figure"]
    for ax in figure.axes:
        plain, asymmetric = (int(share) for share in re.findall(r"(\d+)%", ax.get_title()))
        assert plain <= 5
        assert asymmetric >= 10


def test_partitions_are_drawn():
    figure = runpy.run_path(str(EXAMPLES / "plot_partitions.py"))["figure"]
    assert len(figure.axes) == 8


def test_threshold_curves(capsys):
    runpy.run_path(str(EXAMPLES / "plot_threshold.py"))
    out = capsys.readouterr().out
    assert out.count("theory 0.25") == 2

"""The pictures of the gallery that this module draws."""

import os
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


@pytest.mark.skipif(not os.environ.get("STAKES_DATA"), reason="STAKES_DATA is not set")
def test_german_credit_curves(capsys):
    runpy.run_path(str(EXAMPLES / "plot_german_credit.py"))
    out = capsys.readouterr().out
    assert out.count("at the theoretical threshold 0.75") == 2

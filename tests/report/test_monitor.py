"""The page of a monitor: alone, escaped, readable on a phone."""

import numpy as np
import pytest
from browser import assert_no_sideways_scroll, complaints, load, missing, requests, text
from sklearn.linear_model import LogisticRegression

from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier
from stakes.monitor import Monitor

EVIL = "<script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def monitor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = np.where(X[:, 0] + rng.normal(size=600) > 1, EVIL, "good")
    C = CostMatrix([[0, 5], [1, 0]], labels=[EVIL, "good"])
    model = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(X[:300], y[:300])
    made = Monitor(model, reference=(X[300:], y[300:]), between=0.05)
    for week in range(30):
        X = rng.normal(size=(60, 1)) - (1.5 if week > 20 else 0)
        truth = np.where(X[:, 0] + rng.normal(size=60) > 1, EVIL, "good")
        if 10 <= week < 15:  # the world is upside down
            truth = np.where(truth == EVIL, "good", EVIL)
        made.update(X, truth if week < 15 else None, label=f"week {week} {EVIL}")
    return made


def test_the_page_says_what_the_monitor_found(monitor):
    assert monitor.alarms
    page = monitor.to_html(currency="€", title=EVIL, command="stakes monitor m.skops new.csv")
    assert EVIL not in page
    assert page.count('class="alarm"') >= 2 * len(monitor.alarms)
    assert page.count('class="paid"') == 15
    assert "one in 100, in the long run" in page
    assert "batches share" in page
    with pytest.raises(ValueError, match="has seen no batch"):
        Monitor(monitor.model, reference=monitor.reference).to_html()


@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_the_page_in_a_browser(monitor, driver, tmp_path):
    path = tmp_path / "monitor.html"
    monitor.to_html(path)
    for width in (1280, 390):
        load(driver, path, width=width, dark=width == 390)
        assert_no_sideways_scroll(driver)
    assert text(driver, "h1").startswith("In “week 29")
    assert "owned" not in driver.title
    assert complaints(driver) == []
    assert requests(driver) == []

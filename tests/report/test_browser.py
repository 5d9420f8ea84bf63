"""The page in a real browser: it loads alone, computes as the library does, and survives."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from browser import (
    assert_no_sideways_scroll,
    complaints,
    load,
    look_at,
    missing,
    requests,
    settle,
    text,
    type_price,
)

from stakes.compare import compare
from stakes.compare.words import money_for, percent, short_label
from stakes.costs import CostMatrix, CostWarning, binary_cost_tensor
from stakes.report import summarize
from stakes.report._charts import decision_range
from stakes.tables import ColumnCheck, Finding, TableCheck

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

EVIL = [
    "</script><script>document.title='owned'</script>",
    "\"'><img src=x onerror=document.title='owned'>",
    "\u202eمرحبا بالعالم\u2066 " + "long " * 2000,
]


def make_data(n_classes, labels=None, n=200):
    rng = np.random.default_rng(n_classes)
    codes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 0.9 * codes[:, None]
    return pd.DataFrame(X, columns=["a", "b", "c"]), (
        codes if labels is None else np.array(labels, dtype=object)[codes]
    )


def make_matrix(n_classes):
    # Never symmetric: missing a high class is expensive, a false alarm is not.
    t, d = np.indices((n_classes, n_classes))
    return np.where(t == d, 0.0, np.where(t > d, 4.0 * (t - d) + 0.5, 1.0 * (d - t)))


def make_choices():
    """Return comparisons of decisions that are not the classes: (K, A), or without any class."""
    given = {"methods": ["mec"], "fast": True, "cv": 3}
    names = ["approve", "ask", "review", "block", *(f"choice {i}" for i in range(9))]
    found = {}
    for k, a in ((2, 4), (3, 4), (4, 3), (4, 13)):
        X, y = make_data(k, [f"class {c}" for c in range(k)])
        t, d = np.indices((k, a))
        values = np.abs(3.0 * t - d) * np.where(3 * t > d, 4, 1) + d * 0.25
        matrix = CostMatrix(values, [f"class {c}" for c in range(k)], names[:a])
        today = np.where(X["a"] > 1, names[2], names[0])
        more = {"baseline": today} if a == 4 else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CostWarning)  # not each of them is ever the cheapest
            found[f"{k} x {a}"] = compare(X, y, cost_matrix=matrix, currency="€", **given, **more)
    X, y = make_data(2)
    amount = np.linspace(1, 3, 200)
    rows = {"ship": np.where(y == 1, 9, 1) * amount, "hold": 5 * amount, "lose": 9.5 * amount}
    found["no truth"] = compare(X, costs=pd.DataFrame(rows), **given)
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Comparisons and their pages: 2, 3, 4 and 14 classes, prices by example, choices."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for k in (2, 3, 4, 14):
        X, y = make_data(k, n=200 if k < 14 else 280)
        made = compare(
            X, y, cost_matrix=make_matrix(k), methods=["mec"], fast=True, currency="€", cv=3
        )
        found[k] = made
    X, y = make_data(2)
    prices = binary_cost_tensor(fp_cost=3, fn_cost=np.linspace(2, 30, 200))
    found["deciding"] = compare(X, y, cost_tensor=prices, methods=["mec"], fast=True, cv=3)
    costs = prices[np.arange(200), y]
    found["hindsight"] = compare(X, y, costs=costs, methods=["mec"], fast=True, cv=3)
    found |= make_choices()
    for key, made in found.items():
        made.to_html(folder / f"{key}.html", command="stakes compare")
    return {key: (made, (folder / f"{key}.html")) for key, made in found.items()}


def assert_shows(driver, made, answer):
    """The page's figures are those that Python computes, to the last printed digit."""
    money = money_for(made)
    look_at(driver, "total")
    assert text(driver, "#wi-total") == money.sum(answer.total)
    assert text(driver, "#wi-each") == money(answer.total / len(answer.decisions))
    assert text(driver, "#wi-saving") == percent(answer.savings)
    assert text(driver, '[data-amount="today"]') == money.sum(answer.baseline_total)
    assert text(driver, '[data-amount="constant"]') == money.sum(answer.constant_total)
    assert text(driver, '[data-amount="kept"]') == money.sum(answer.kept_total)
    named = short_label(made.decisions[answer.constant])["short"]
    assert text(driver, '[data-name="constant"]') == f"“{named}” for everybody"
    k, a = answer.confusion.shape
    if max(k, a) <= 12:
        for t in range(k):
            for d in range(a):
                cell = f'#confusion td[data-t="{t}"][data-d="{d}"] '
                assert text(driver, cell + "b") == money.sum(answer.cost_confusion[t, d])
                assert text(driver, cell + "small") == f"{answer.confusion[t, d]:,}"


CHOICES = ["2 x 4", "3 x 4", "4 x 3", "4 x 13", "no truth"]


@pytest.mark.parametrize("key", [2, 3, 4, 14, "deciding", "hindsight", *CHOICES])
def test_it_loads_alone_and_begins_with_the_library_s_numbers(driver, pages, key):
    made, path = pages[key]
    load(driver, path)
    assert complaints(driver) == []
    assert requests(driver) == []
    assert_shows(driver, made, made.what_if(made.cost_matrix))
    assert text(driver, "#wi-changed") == "0"
    money = money_for(made)
    for row in summarize(made, importance=False)["methods"]:  # those that decide alike share one
        cell = f'tr[data-method="{row["name"]}"] [data-k="total"]'
        assert text(driver, cell) == money.sum(made.table.loc[row["name"]].total)


@pytest.mark.parametrize(
    "key", [2, 3, 4, "deciding", "hindsight", "2 x 4", "3 x 4", "4 x 3", "no truth"]
)
def test_editing_a_cell_gives_what_python_computes(driver, pages, key):
    made, path = pages[key]
    load(driver, path)
    matrix = made.cost_matrix.copy()
    for t, d, value in ((1, 0, 17.5), (0, 1, 0.25), (1, 1, -2)):
        type_price(driver, t, d, value)
        matrix[t, d] = value
        answer = made.what_if(matrix)
        assert_shows(driver, made, answer)
    changed = int((answer.decisions != made.what_if(made.cost_matrix).decisions).sum())
    assert text(driver, "#wi-changed") == f"{changed:,}"
    assert changed > 0
    driver.find_element("id", "reset").click()
    settle(driver)
    assert_shows(driver, made, made.what_if(made.cost_matrix))
    assert complaints(driver) == []


def test_the_threshold_moves_with_the_prices(driver, pages):
    made, path = pages[2]
    load(driver, path)
    before = driver.find_element("id", "curve").get_attribute("d")
    marker = driver.find_element("id", "marker").get_attribute("x1")
    assert text(driver, "#wi-threshold") == percent(CostMatrix(made.cost_matrix).threshold())
    type_price(driver, 1, 0, 3)
    assert text(driver, "#wi-threshold") == "25.0%"  # 1 / (1 + 3)
    assert driver.find_element("id", "curve").get_attribute("d") != before
    assert driver.find_element("id", "marker").get_attribute("x1") != marker


@pytest.mark.parametrize("key", [3, "3 x 4"])
def test_the_regions_move_with_the_prices(driver, pages, key):
    from stakes.report._charts import SIMPLEX, decision_regions

    made, path = pages[key]
    load(driver, path)
    type_price(driver, 2, 0, 40)
    matrix = made.cost_matrix.copy()
    matrix[2, 0] = 40
    for d, region in enumerate(decision_regions(matrix)):
        points = driver.find_element("css selector", f'[data-region="{d}"]').get_attribute(
            "points"
        )
        drawn = np.array([pair.split(",") for pair in points.split()], dtype=float).reshape(-1, 2)
        np.testing.assert_allclose(drawn, region @ np.array(SIMPLEX["corners"]), atol=0.06)


def test_pairs_of_many_classes_have_thresholds(driver, pages):
    _, path = pages[4]
    load(driver, path)
    type_price(driver, 0, 1, 9)
    type_price(driver, 1, 0, 3)
    # Deciding 1 wrongly costs 9, missing it 3: 9 / (9 + 3).
    assert text(driver, '#sure td[data-t="0"][data-d="1"]') == "75.0%"
    assert text(driver, '#sure td[data-t="1"][data-d="0"]') == "25.0%"


@pytest.mark.parametrize("key", ["2 x 4", "4 x 3"])
def test_probabilities_at_which_choices_are_made_follow_the_prices(driver, pages, key):
    made, path = pages[key]
    load(driver, path)
    matrix = made.cost_matrix.copy()
    for t, d, value in ((1, 0, 7.5), (0, 2, 1.25)):
        type_price(driver, t, d, value)
        matrix[t, d] = value
    said = set()
    for t, d in np.ndindex(matrix.shape):
        found = decision_range(matrix, made.shares, t, d)
        assert text(driver, f'#sure td[data-t="{t}"][data-d="{d}"]') == found
        said.add(found.split()[0])
    assert {"from", "up"} <= said


def test_the_lines_to_compare_choices_with(driver, pages):
    made, path = pages["2 x 4"]
    load(driver, path)
    money = money_for(made)
    for key, name, label in (
        ("today", "today", "What is decided today"),
        ("constant", "constant", f"“{made.decisions[made.constant]}” for everybody"),
        ("plain", "plain", "“Model without prices, then its cheapest decision”, kept"),
    ):
        assert text(driver, f'[data-name="{key}"]') == label
        assert text(driver, f'[data-amount="{key}"]') == money.sum(made.total(name))
    type_price(driver, 1, 0, 80)
    matrix = made.cost_matrix.copy()
    matrix[1, 0] = 80
    assert text(driver, '[data-amount="plain"]') == money.sum(made.total("plain", matrix))


def test_without_a_truth_the_cheapest_stands_for_it(driver, pages):
    _, path = pages["no truth"]
    load(driver, path)
    assert "when the cheapest is" in text(driver, "#slider-label")
    for table in ("prices", "confusion", "sure"):
        assert text(driver, f"#{table} .corner span") == "cheapest"
    assert "no truth is given" in text(driver, ".protocol")


def test_more_classes_than_a_grid_holds_have_a_picker(driver, pages):
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select

    made, path = pages[14]
    load(driver, path)
    Select(driver.find_element("id", "pick-true")).select_by_value("3")
    Select(driver.find_element("id", "pick-decided")).select_by_value("2")
    box = driver.find_element("id", "pick-price")
    assert box.get_attribute("value") == "4.50"
    box.send_keys(Keys.CONTROL, "a")
    box.send_keys("60", Keys.TAB)
    settle(driver)
    matrix = made.cost_matrix.copy()
    matrix[3, 2] = 60
    answer = made.what_if(matrix)
    assert_shows(driver, made, answer)
    first = text(driver, "#most-expensive tbody tr:first-child td:nth-child(3)")
    off = answer.cost_confusion.copy()
    np.fill_diagonal(off, 0)
    assert first == money_for(made).sum(off.max())


def test_the_slider_changes_the_price_it_names(driver, pages):
    made, path = pages[2]
    load(driver, path)
    driver.find_element("css selector", '#prices td[data-t="1"][data-d="0"] input').click()
    assert "deciding 0 when the truth is 1" in text(driver, "#slider-label")
    driver.execute_script(
        "const s = document.getElementById('slider'); s.value = 500;"
        "s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change'));"
    )
    settle(driver)
    # Half of a slider that ends at four times the price of 4.5.
    matrix = made.cost_matrix.copy()
    matrix[1, 0] = 9
    assert_shows(driver, made, made.what_if(matrix))


@pytest.mark.parametrize("key", [2, 3, 4, "deciding", "hindsight", "2 x 4", "4 x 13", "no truth"])
def test_a_limit_decides_as_python_does(driver, pages, key):
    made, path = pages[key]
    load(driver, path)
    free = made.what_if(made.cost_matrix)
    d = int(np.bincount(free.decisions).argmax())
    count = int((free.decisions == d).sum()) // 2
    set_limit = """
        document.getElementById("limit-decision").value = arguments[0];
        const slide = document.getElementById("limit");
        slide.value = arguments[1];
        slide.dispatchEvent(new Event("input"));
    """
    driver.execute_script(set_limit, str(d), str(count))
    settle(driver)
    answer = made.what_if(made.cost_matrix, capacity={made.decisions[d]: count})
    assert_shows(driver, made, answer)
    assert (answer.decisions == d).sum() == count
    said = text(driver, "#limit-said")
    assert money_for(made)(answer.shadow_prices[d]) in said
    assert f"at most {count:,} times" in text(driver, "#limit-label")
    driver.find_element("id", "reset").click()
    settle(driver)
    assert_shows(driver, made, free)
    assert complaints(driver) == []


@pytest.mark.parametrize("key", [3, "2 x 4"])
def test_a_link_keeps_the_prices(driver, pages, key):
    made, path = pages[key]
    load(driver, path)
    type_price(driver, 1, 2, 33)
    link = driver.current_url
    assert "#prices=" in link
    load(driver, link)
    matrix = made.cost_matrix.copy()
    matrix[1, 2] = 33
    assert_shows(driver, made, made.what_if(matrix))


@pytest.mark.parametrize("tail", ["#prices=1,2", "#prices=<script>", "#prices=1,2,3,x", "#nope"])
def test_a_broken_link_changes_nothing(driver, pages, tail):
    made, path = pages[2]
    load(driver, path.as_uri() + tail)
    assert_shows(driver, made, made.what_if(made.cost_matrix))
    assert complaints(driver) == []


@pytest.mark.parametrize("typed", ["abc", "1e999", "--3", "1;2"])
def test_what_is_no_number_is_marked_and_ignored(driver, pages, typed):
    from selenium.webdriver.common.keys import Keys

    _, path = pages[2]
    load(driver, path)
    cell = driver.find_element("css selector", '#prices td[data-t="1"][data-d="0"] input')
    cell.send_keys(Keys.CONTROL, "a")
    cell.send_keys(typed)
    settle(driver)
    assert cell.get_attribute("aria-invalid") == "true"
    cell.send_keys(Keys.TAB)
    settle(driver)
    assert cell.get_attribute("aria-invalid") is None
    assert float(cell.get_attribute("value")) in (4.5, 1, 1e9)


@pytest.mark.parametrize("key", [3, "2 x 4"])
def test_the_saved_csv_is_a_cost_file(driver, pages, tmp_path, key):
    made, path = pages[key]
    load(driver, path)
    type_price(driver, 0, 2, 12.25)
    saved = driver.execute_async_script(
        """const done = arguments[0];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };
        document.getElementById('save').click();"""
    )
    file = tmp_path / "costs.csv"
    file.write_text(saved)
    found = CostMatrix.from_csv(file)
    truths, decisions = map(str, made.classes), tuple(map(str, made.decisions))
    matrix = made.cost_matrix.copy()
    matrix[0, 2] = 12.25
    for t, truth in enumerate(truths):
        for d, decision in enumerate(decisions):
            assert found.cost(true=truth, predicted=decision) == matrix[t, d]


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    X, y = make_data(3, labels=EVIL)
    X = X.rename(columns={"a": EVIL[0], "b": EVIL[1], "c": EVIL[2]})
    X["words"] = np.array(EVIL)[np.arange(len(X)) // 7 % 3]
    matrix = CostMatrix(make_matrix(3), labels=EVIL)
    made = compare(
        X, y.astype(str), cost_matrix=matrix, methods=["mec"], fast=True, cv=3, name=EVIL[0]
    )
    row = ColumnCheck(EVIL[0], EVIL[1], 0.5, 3, EVIL[2])
    findings = [Finding("leak", name, name, name, drop=True) for name in EVIL]
    made.check = TableCheck(9, 9, [row], findings)
    path = tmp_path_factory.mktemp("evil") / "page.html"
    made.to_html(path, command=EVIL[1], title="harmless")
    return made, path


@pytest.mark.parametrize("width", [1200, 390])
def test_hostile_labels_change_nothing(driver, evil, width):
    from selenium.webdriver.support.ui import Select

    made, path = evil
    load(driver, path, width=width)
    assert complaints(driver) == []
    assert requests(driver) == []
    assert driver.title == "harmless"
    assert driver.execute_script("return document.querySelectorAll('script').length") == 2
    assert driver.execute_script("return document.querySelectorAll('img').length") == 0
    for part in ("groups", "importance", "mistakes", "check"):  # each has them in it
        assert "onerror" in text(driver, f"#{part}")
    select = Select(driver.find_element("id", "group-by"))
    for option in range(len(select.options)):
        select.select_by_index(option)
    for key in ("today", "constant", "kept", "total"):
        look_at(driver, key)
    assert driver.title == "harmless"
    assert_no_sideways_scroll(driver)
    type_price(driver, 1, 0, 9)
    matrix = made.cost_matrix.copy()
    matrix[1, 0] = 9
    assert_shows(driver, made, made.what_if(matrix))
    assert path.stat().st_size < 300_000


@pytest.mark.parametrize("key", [2, 3, 4, 14, *CHOICES])
@pytest.mark.parametrize("width", [320, 390])
def test_it_fits_a_phone(driver, pages, key, width):
    _, path = pages[key]
    load(driver, path, width=width, dark=True)
    assert_no_sideways_scroll(driver)
    assert complaints(driver) == []


def test_every_control_is_reached_by_the_keyboard(driver, pages):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    _, path = pages[3]
    load(driver, path)
    seen = []
    for _ in range(60):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        seen.append(
            driver.execute_script(
                "const e = document.activeElement;"
                "return e.id || e.getAttribute('aria-label') || e.tagName"
            )
        )
    for wanted in ("slider", "reset", "copy", "save", "SUMMARY"):
        assert wanted in seen
    cells = [name for name in seen if str(name).startswith("Cost of deciding")]
    assert len(set(cells)) == 9


def test_it_reads_without_script(driver, pages):
    made, path = pages[2]
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get("about:blank")
        driver.get(path.as_uri())
        shown = driver.find_element("tag name", "body").text
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    money = money_for(made)
    assert money.sum(made.what_if(made.cost_matrix).total) in shown
    assert "With JavaScript turned off the prices cannot be changed" in shown
    assert "Copy a link" not in shown
    assert re.search(r"4\.5", shown)


def test_it_prints(driver, pages):
    _, path = pages[4]
    load(driver, path)
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert len(pdf["data"]) > 10_000

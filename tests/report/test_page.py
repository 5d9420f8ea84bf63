"""The page for five classes with ordinary names: read, printed, changed, passed on."""

import base64
import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from browser import (
    assert_no_sideways_scroll,
    complaints,
    load,
    look_at,
    missing,
    text,
    type_price,
)
from numpy.testing import assert_array_equal

from stakes.compare._comparison import Comparison, label_order
from stakes.compare._problem import make_problem
from stakes.compare._result import MethodResult
from stakes.compare.words import money_for, percent
from stakes.costs import CostMatrix
from stakes.decision import Policy
from stakes.report import render_page, summarize
from stakes.tables import ColumnCheck, Finding, TableCheck

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

# In the order of the price table, which is not the alphabet's.
ACTIONS = ("No action", "Reminder letter", "Telephone call", "Field visit", "Legal proceedings")
PRICES = np.array(
    [
        [0, 12, 45, 180, 2400],
        [350, 0, 38, 165, 2100],
        [1200, 480, 0, 140, 1900],
        [5400, 2600, 1250, 0, 1625.5],
        [108000, 64000, 41000, 9500, 0],
    ]
)


def by_hand(labels=ACTIONS, prices=PRICES, n=800, baseline="plain", **more):
    """A comparison without a fit; the recommended method is not that of the probabilities."""
    rng = np.random.default_rng(3)
    k = len(labels)
    codes = rng.choice(k, n, p=np.arange(k, 0, -1) / (k * (k + 1) / 2))
    X = pd.DataFrame(
        {
            "customer_id": rng.permutation(np.arange(100_000, 100_000 + n)),
            "amount": np.exp(rng.normal(8 + 0.4 * codes, 0.8)).round(2),
            "region": rng.choice(["North", "South", "East", "West"], n),
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
        }
    )
    C = CostMatrix(prices, labels=list(labels))
    problem = make_problem(X, np.array(labels)[codes], cost_matrix=C)
    z = rng.normal(size=(n, k))
    z[np.arange(n), problem.y] += 1.5
    proba, better = (
        np.exp(v) / np.exp(v).sum(1, keepdims=True) for v in (z, z + 1.6 * np.eye(k)[problem.y])
    )
    proba = proba.astype(np.float32)

    def result(name, title, decisions, proba=None):
        decisions = np.asarray(decisions, dtype=np.int32)
        paid = problem.costs.of(decisions)
        given = {"decisions": decisions, "proba": proba, "paid": paid}
        return MethodResult(name, title, by_prices=name == "mec", **given)

    constant = np.full(n, problem.costs.mean_row().argmin())
    policy = Policy(classes=problem.classes.tolist(), prices=problem.costs.class_matrix())
    sure, surer = (policy.decide(p, problem.costs.known).positions for p in (proba, better))
    results = [
        result("constant", "One decision for all", constant),
        result("plain", "Model without prices", proba.argmax(1), proba),
        result("today", "Today", rng.permutation(problem.y)),
        result("mec", "Model with your prices", sure, proba),
        result("partition", "Learned partition", surer),
    ]
    kept = [r for r in results if r.name != "today" or baseline == "today"]
    return Comparison(
        problem=problem,
        results={r.name: r for r in kept},
        baseline=baseline,
        protocol={"cv": "5 folds", "random_state": 0, "plain_model": "LightGBM"},
        currency="€",
        name="collections",
        order=label_order(C, problem.classes),
        **more,
    )


def steep(k):
    t, d = np.indices((k, k))
    return np.where(t == d, 0.0, np.where(t > d, 400.0 * (t - d) ** 2 + 0.5, 30.0 * (d - t)))


TWELVE = tuple(f"{name} {i}" for i in range(3) for name in ("Approve", "Reject", "Ask", "Wait"))


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    made = by_hand()
    assert (made.recommended, made.probability_method) == ("partition", "mec")
    path = tmp_path_factory.mktemp("five") / "page.html"
    made.to_html(path, command="stakes compare loans.csv")
    return made, path


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    made = by_hand(labels=TWELVE, prices=steep(12))
    path = tmp_path_factory.mktemp("twelve") / "page.html"
    made.to_html(path)
    return made, path


def position(made, label):
    return made.classes.tolist().index(label)


# -- prices as people write them ---------------------------------------------------------

READ = {
    "120,000": 120_000,
    "1,200": 1200,
    "1,234,567.5": 1_234_567.5,
    "5 000": 5000,
    "5\u00a0000,25": 5000.25,
    "5\u202f000": 5000,
    "1.234,56": 1234.56,
    "1.234.567": 1_234_567,
    "1'000": 1000,
    "1’234’567.89": 1_234_567.89,
    "1,20,000": 120_000,
    "12.5": 12.5,
    "12,5": 12.5,
    "0,125": 0.125,
    "1.234": 1.234,
    "1234,567": 1234.567,
    ".5": 0.5,
    "7.": 7,
    "€120,000": 120_000,
    "120.000,00 €": 120_000,
    "-5": -5,
    "−1,200": -1200,
    "-€12.50": -12.5,
    "+3": 3,
    "1e3": 1000,
    "2.5E-1": 0.25,
    "1,5e3": 1500,
    "0": 0,
}
UNREADABLE = ["1,2,3", "1.2.3", "12 34", "1,23,4", "1.234,567.8", "12k", "5%", "1e999", "", "--3", "1/2", "€", "0x10", "Infinity"]  # fmt: skip


ENTER = """
const [t, d, texts, done] = arguments;
const cell = document.querySelector(`#prices td[data-t="${t}"][data-d="${d}"] input`);
const frame = () => new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)));
(async () => {
  const out = [];
  for (const text of texts) {
    cell.focus();
    for (let letters = 1; letters < text.length; letters++) {  // on the way to it
      cell.value = text.slice(0, letters);
      cell.dispatchEvent(new Event('input'));
    }
    cell.value = text;
    cell.dispatchEvent(new Event('input'));
    const invalid = cell.getAttribute('aria-invalid');
    cell.dispatchEvent(new Event('change'));
    cell.blur();
    await frame();
    out.push([text, invalid, cell.value, document.getElementById('wi-total').textContent, document.getElementById('said').textContent]);
  }
  done(out);
})();
"""


def test_prices_are_read_as_people_write_them(driver, five):
    made, path = five
    load(driver, path)
    look_at(driver, "total")
    t, d = position(made, "Field visit"), position(made, "Reminder letter")
    money = money_for(made)
    type_price(driver, t, d, "120,000")  # by the keyboard
    for typed, invalid, shown, total, said in [
        ["120,000", None, "120,000.00", text(driver, "#wi-total"), text(driver, "#said")],
        *driver.execute_async_script(ENTER, t, d, list(READ)),
    ]:
        value = READ[typed]
        matrix = made.cost_matrix.copy()
        matrix[t, d] = value
        assert invalid is None, typed
        assert total == money.sum(made.what_if(matrix).total), typed
        assert float(shown.replace(",", "").replace("−", "-")) == value, typed
        assert len(shown.partition(".")[2]) >= 2  # as in the rest of the table
        # What was understood is said, in the form of the page.
        price = ("−€" if value < 0 else "€") + shown.lstrip("−")
        point = ": the point is the decimal point, as everywhere on this page"
        assert said == f"“{typed}” was read as {price}{point if typed == '1.234' else ''}.", typed
    assert complaints(driver) == []


def test_what_cannot_be_read_is_marked_and_not_used(driver, five):
    made, path = five
    load(driver, path)
    t, d = position(made, "Field visit"), position(made, "Reminder letter")
    before = text(driver, "#wi-total")
    for typed, invalid, shown, total, said in driver.execute_async_script(ENTER, t, d, UNREADABLE):
        # Also what was typed on the way ("1" of "12k") leaves nothing behind.
        assert (invalid, shown, total) == ("true", "2,600.00", before), typed
        assert said == f"“{typed}” is no number that can be read: the price stays €2,600.00."


def test_large_prices_travel_whole(driver, five):
    made, path = five
    load(driver, path)
    t, d = position(made, "Field visit"), position(made, "Reminder letter")
    type_price(driver, t, d, "1,234,567.89")
    load(driver, driver.current_url)
    cell = f'#prices [data-t="{t}"][data-d="{d}"] input'
    assert driver.find_element("css selector", cell).get_attribute("value") == "1,234,567.89"


# -- what fits where -------------------------------------------------------------------------

CLIPPED = """
const out = [];
for (const table of document.querySelectorAll('table')) {
  const box = table.closest('.scroll') || table.parentElement;
  if (!table.checkVisibility({ contentVisibilityAuto: true })) continue;
  if (table.closest('.card')) {
    const card = table.closest('.card').getBoundingClientRect();
    const moves = getComputedStyle(box).overflowX === 'auto';
    if ((moves ? box : table).getBoundingClientRect().right > card.right + 1) out.push(`${table.id || table.className} leaves its card`);
  }
  if (arguments[0] && box.scrollWidth > box.clientWidth + 1) out.push(`${table.id || table.className} scrolls`);
  for (const cell of table.querySelectorAll('th bdi, td b, td small, td input')) {
    if (cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth) out.push(`${table.id}: ${cell.textContent || cell.value}`);
  }
}
return out;
"""


@pytest.mark.parametrize("width", [1920, 1280])
@pytest.mark.parametrize("page", ["five", "twelve"])
def test_nothing_is_clipped_on_a_desk(driver, request, page, width):
    _, path = request.getfixturevalue(page)
    load(driver, path, width=width)
    assert driver.execute_script(CLIPPED, True) == []
    assert_no_sideways_scroll(driver)


def test_on_a_phone_the_row_labels_stay_and_a_hint_says_that_there_is_more(driver, five):
    _, path = five
    load(driver, path, width=390)
    assert_no_sideways_scroll(driver)
    assert driver.execute_script(CLIPPED, False) == []
    for table in ("prices", "confusion", "sure"):
        found = driver.execute_script(
            """const table = document.getElementById(arguments[0]);
            const box = table.closest('.scroll');
            const wide = box.scrollWidth > box.clientWidth;
            const hint = box.previousElementSibling;
            const head = table.tBodies[0].rows[2].cells[0];
            box.scrollLeft = 9999;
            const place = head.getBoundingClientRect();
            return [wide, hint.className, hint.offsetHeight > 0,
                    Math.abs(place.left - box.getBoundingClientRect().left) < 2];""",
            table,
        )
        assert found == [True, "sideways", True, True], table


@pytest.mark.parametrize("width", [1920, 1280, 390])
def test_the_most_expensive_cell_is_in_sight(driver, five, width):
    made, path = five
    load(driver, path, width=width)
    spent = made.cost_confusion(made.recommended)
    for table, values in (("prices", made.cost_matrix), ("confusion", spent)):
        t, d = np.unravel_index(values.argmax(), values.shape)
        seen = driver.execute_script(
            """const cell = document.querySelector(`#${arguments[0]} td[data-t="${arguments[1]}"][data-d="${arguments[2]}"]`);
            const box = cell.closest('.scroll').getBoundingClientRect();
            const head = cell.parentElement.cells[0].getBoundingClientRect();
            const at = cell.getBoundingClientRect();
            return at.left >= head.right - 2 && at.right <= box.right + 2;""",
            table,
            int(t),
            int(d),
        )
        assert seen, table


OVERLAPS = """
const blocks = [...document.querySelectorAll('.card, .tile, h2, h3, .hint, table, svg, .notice')].filter((b) => b.checkVisibility({ contentVisibilityAuto: true }));
const out = [];
for (let i = 0; i < blocks.length; i++) for (let j = i + 1; j < blocks.length; j++) {
  const [a, b] = [blocks[i], blocks[j]];
  if (a.contains(b) || b.contains(a)) continue;
  const [p, q] = [a.getBoundingClientRect(), b.getBoundingClientRect()];
  const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
  const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
  if (wide > 1 && high > 1) out.push([a.textContent.trim().slice(0, 40), b.textContent.trim().slice(0, 40)]);
}
return out;
"""


@pytest.mark.parametrize("width", [703, 1031])  # A4 without its margins, upright and across
@pytest.mark.parametrize("page", ["five", "twelve"])
def test_printed_nothing_lies_over_anything_else(driver, request, page, width):
    _, path = request.getfixturevalue(page)
    load(driver, path, width=width, media="print")
    assert driver.execute_script(OVERLAPS) == []
    assert driver.execute_script(CLIPPED, False) == []
    assert_no_sideways_scroll(driver)
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27, "paperHeight": 11.69})
    assert len(pdf["data"]) > 10_000


CONTRAST = """
const parse = (text) => {
  const v = text.match(/[\\d.]+/g).map(Number);
  const scale = text.startsWith('color(') ? 255 : 1;
  return [v[0] * scale, v[1] * scale, v[2] * scale, v[3] === undefined ? 1 : v[3]];
};
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
const light = (c) => {
  const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.unshift(parse(getComputedStyle(e).backgroundColor));
  return chain.reduce((under, top) => over(top, under), [255, 255, 255, 1]);
};
const low = [];
const check = (element, text) => {
  const style = getComputedStyle(element);
  const under = ground(element);
  let colour = parse(element.namespaceURI.endsWith('svg') ? style.fill : style.color);
  for (let e = element; e; e = e.parentElement) colour[3] *= Number(getComputedStyle(e).opacity);
  const [a, b] = [light(over(colour, under)), light(under)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push([text.slice(0, 30), element.className.baseVal || element.className, ratio.toFixed(2)]);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walker.nextNode()) {
  const parent = walker.currentNode.parentElement;
  const words = walker.currentNode.textContent.trim();
  if (!words || ['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(parent.tagName) || !parent.getClientRects().length) continue;
  check(parent, words);
  seen += 1;
}
for (const input of document.querySelectorAll('input[type=text], select, button')) check(input, input.value);
return [seen, low];
"""


@pytest.mark.parametrize("look", ["light", "dark", "print"])
def test_every_word_stands_out_from_its_ground(driver, five, look):
    _, path = five
    load(driver, path, dark=look == "dark", media="print" if look == "print" else "")
    driver.execute_script(
        "for (const d of document.querySelectorAll('details')) d.open = true;"
        "document.querySelectorAll('#prices input')[3].classList.add('changed');"
    )
    seen, low = driver.execute_script(CONTRAST)
    assert seen > 200
    assert low == []


# -- what is said ----------------------------------------------------------------------------


def test_headline_and_what_if_speak_of_the_same_decisions(driver, five):
    made, path = five
    money = money_for(made)
    load(driver, path)
    total = money.sum(made.total("partition"))
    assert "“Learned partition”" in text(driver, "h1")
    assert text(driver, ".tile.strong .value") == total
    assert text(driver, "#wi-total") == total
    assert text(driver, '[data-amount="recommended"]') == total
    assert text(driver, '[data-amount="total"]') == money.sum(made.total("mec"))
    assert "Learned partition" in text(driver, "#looked-at")
    assert "decided again only by a new fit" in text(driver, "#what-if")


def test_kept_and_decided_again_are_told_apart_in_words(driver, five):
    made, path = five
    money = money_for(made)
    load(driver, path)
    t, d = position(made, "Legal proceedings"), position(made, "Field visit")
    seen = set()
    for value in (0, 30_000, 1_000_000, 20):
        type_price(driver, t, d, value)
        matrix = made.cost_matrix.copy()
        matrix[t, d] = value
        answer = made.what_if(matrix)
        assert text(driver, '[data-amount="kept"]') == money.sum(answer.kept_total)
        assert text(driver, '[data-amount="total"]') == money.sum(answer.total)
        kept = made.total("partition", matrix)
        assert text(driver, '[data-amount="recommended"]') == money.sum(kept)
        assert text(driver, "#wi-total") == money.sum(kept)
        assert text(driver, "#wi-saving") == percent(1 - kept / answer.baseline_total)
        why, gap = text(driver, "#wi-why"), money.sum(abs(answer.total - answer.kept_total))
        dearer = answer.total > answer.kept_total
        assert ("more decided again than kept: it weighs estimated" in why) == dearer
        assert gap in why
        seen.add(dearer)
        look_at(driver, "total")
        t2, d2 = np.unravel_index(answer.cost_confusion.argmax(), matrix.shape)
        cell = f'#confusion td[data-t="{t2}"][data-d="{d2}"] b'
        assert text(driver, cell) == money.sum(answer.cost_confusion.max())
        look_at(driver, "recommended")
    assert seen == {True, False}


def test_the_one_decision_and_the_reference_are_named(five):
    made, _ = five
    page = render_page(made)
    assert "One decision for all: ‘Field visit’" in page
    assert "“Field visit” for everybody" in page
    assert "Compared with: Model without prices" in page
    words = re.sub(r"<[^>]+>", " ", page)
    assert "What is decided today is not known here." in words
    assert "paid today" not in words


def test_one_decision_for_all_may_be_the_best():
    made = by_hand(labels=TWELVE, prices=steep(12))
    assert made.recommended == "constant"
    summary = summarize(made, importance=False)
    assert summary["answer"]["headline"].startswith(
        "Decide ‘Reject 2’ for every case: that saves about "
    )
    found = summary["what_if"]
    assert (found["selected"], found["recommended"]) == ("constant", "")
    assert [option["key"] for option in found["options"]] == ["today", "constant", "kept", "total"]
    assert found["total"] == found["options"][1]["amount"]
    assert found["total"] == next(t["value"] for t in summary["tiles"] if "strong" in t)


def test_savings_are_counted_against_today_where_it_is_known():
    made = by_hand(baseline="today")
    summary = summarize(made)
    assert summary["tiles"][0]["label"] == "Today"
    assert summary["what_if"]["options"][0]["label"] == "What is decided today"
    saved = made.total("today") - made.total("partition")
    about = money_for(made).sum(float(f"{saved:.3g}"))
    assert f"that saves about {about} on these " in summary["answer"]["headline"]
    assert summary["tiles"][2]["value"] == percent(made.table.loc["partition"].savings)


def test_money_is_told_for_a_year_where_its_cases_are_known():
    made = by_hand(baseline="today")
    summary, each = summarize(made, cases_per_year=50_000), made.table["cost"]
    saved = money_for(made).sum(float(f"{50_000 * (each['today'] - each['partition']):.3g}"))
    assert summary["answer"]["headline"].endswith(f": that saves about {saved} a year.")
    assert " a year of 50,000 cases, with 95% confidence." in summary["answer"]["sure"]
    assert summary["tiles"][0]["value"] == money_for(made).sum(50_000 * each["today"])


def test_methods_that_decide_alike_share_a_row():
    made = by_hand()
    partition = made.results["partition"]
    made.results["twin"] = dataclasses.replace(partition, name="twin", title="Its twin")
    rows = {row["name"]: row for row in summarize(made, importance=False)["methods"]}
    assert rows["partition"]["same"] == ["Its twin"]
    assert "twin" not in rows


def test_classes_stand_in_the_order_of_the_price_table(driver, five):
    made, path = five
    assert [made.classes[c] for c in made.order] == list(ACTIONS)
    load(driver, path)
    for table in ("prices", "confusion", "sure"):
        heads = driver.execute_script(
            "const t = document.getElementById(arguments[0]);"
            "return [[...t.tHead.rows[0].cells].slice(1), [...t.tBodies[0].rows].map((r) => r.cells[0])]"
            ".map((cells) => cells.map((c) => c.textContent))",
            table,
        )
        assert heads == [list(ACTIONS)] * 2
    shown = driver.execute_script(
        "return [...document.querySelectorAll('#prices input')].map((i) => i.value)"
    )
    assert [float(v.replace(",", "")) for v in shown] == PRICES.ravel().tolist()
    # It begins at the highest price.
    said = text(driver, "#slider-label")
    assert said == "Cost of deciding No action when the truth is Legal proceedings: €108,000.00"
    saved = driver.execute_async_script(
        """const done = arguments[0];
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make(blob); };
        document.getElementById('save').click();"""
    )
    assert saved.splitlines()[0] == ",".join(f'"{name}"' for name in ("", *ACTIONS))


def test_amounts_of_a_table_have_the_same_digits(five):
    made, _ = five
    summary = summarize(made)
    prices = [cell for row in summary["prices"] for cell in row]
    assert {len(cell.partition(".")[2]) for cell in prices} == {2}  # one of them is 1,625.50
    costs = [item["cost"] for item in summary["mistakes"]["items"]]
    assert len({len(cost.partition(".")[2]) for cost in costs}) == 1
    column = [c["label"]["short"] for c in summary["mistakes"]["columns"]].index("amount")
    amounts = [item["features"][column] for item in summary["mistakes"]["items"]]
    assert len({len(amount.partition(".")[2]) for amount in amounts}) == 1


# -- groups and columns --------------------------------------------------------------------------


def test_costs_of_groups_are_those_of_python(driver, five):
    from selenium.webdriver.support.ui import Select

    made, path = five
    money = money_for(made)
    load(driver, path)
    Select(driver.find_element("id", "group-by")).select_by_visible_text("region")
    table = made.by_group("region")
    assert table["n"].sum() == len(made.tested)
    assert table["total"].sum() == pytest.approx(made.total("partition"))
    rows = driver.execute_script(
        "return [...document.querySelectorAll('.group-card:not([hidden]) tbody tr')]"
        ".map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert {row[0] for row in rows} == {"North", "South", "East", "West"}
    for name, n, cost, interval, _, total, saved, _ in rows:
        found = table.loc[name]
        assert (n, cost, total) == (f"{found.n:.0f}", money(found.cost), money.sum(found.total))
        assert interval == f"{money(found.low)} to {money(found.high)}"
        assert found.low <= found.cost <= found.high
        assert saved == money(found.reference - found.cost)
    assert complaints(driver) == []


def test_groups_of_a_column_by_hand(five):
    made, _ = five
    age = made.by_group("age")
    assert age.index[-1] == "missing"
    assert age.loc["missing", "n"] == made.problem.X["age"].isna().sum()
    by_age = made.problem.X["age"].to_numpy()
    first = float(age.index[0].removeprefix("up to "))
    paid = made.results["partition"].paid[by_age <= first]
    assert age.iloc[0]["cost"] == pytest.approx(paid.mean())
    with pytest.raises(ValueError, match="There is no column 'shoe': the columns are"):
        made.by_group("shoe")


def test_the_column_that_decides_moves_the_money():
    from sklearn.tree import DecisionTreeClassifier

    from stakes.compare import compare

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"noise": rng.normal(size=300), "signal": rng.normal(size=300)})
    X["town"] = [f"town {i}" for i in rng.integers(0, 60, 300)]  # many: by their letters
    y = (X["signal"] > 0).to_numpy().astype(int)
    made = compare(
        X, y, cost_matrix=[[0, 1], [8, 0]], methods=[DecisionTreeClassifier(max_depth=1)], cv=2
    )
    assert made.recommended != "constant"
    found = made.importance("DecisionTreeClassifier")
    assert found.index.tolist() == ["signal", "noise", "town"]
    # Shuffled, a half of each class is decided for the other: (1 + 8) / 4 per case.
    assert found.loc["signal", "low"] < 2.25 < found.loc["signal", "high"]
    assert found.loc["noise"].tolist() == [0, 0, 0]
    again = made.importance("DecisionTreeClassifier")
    pd.testing.assert_frame_equal(found, again)
    assert summarize(made, importance=False)["importance"] is None
    shown = summarize(made)["importance"]
    assert shown["title"] == made.results[made.recommended].title
    money, found = money_for(made), made.importance()
    assert [row["cost"] for row in shown["rows"]] == [money(cost) for cost in found["cost"]]
    total = found["cost"] * len(made.tested)
    assert [row["total"] for row in shown["rows"]] == [money.sum(cost) for cost in total]


# -- passing it on ---------------------------------------------------------------------------------


def test_identifiers_stay_at_home(five):
    made, path = five
    page = path.read_text()
    assert "customer_id" in page  # it is said that it was left out
    shown = {str(v) for v in made.problem.X["customer_id"]}
    assert not shown & set(re.findall(r"\b1\d{5}\b", re.sub(r'id="data">.*?<', "", page)))
    assert "These are raw rows of the data" in page
    raw = render_page(made, private=False)
    assert shown & set(re.findall(r"\b1\d{5}\b", raw))


def test_a_private_page_holds_no_row(five):
    made, _ = five
    summary = summarize(made, private=True)
    assert summary["mistakes"]["columns"] == []
    assert {item["row"] for item in summary["mistakes"]["items"]} == {""}
    page = render_page(made, private=True)
    assert "this page holds no row of the data" in page
    assert "customer_id" not in page
    assert not any(f"{v:,.2f}" in page for v in made.problem.X["amount"])
    # The script's numbers come in an order that tells nothing of the data's.
    payload = summary["what_if"]["payload"]
    y = np.frombuffer(base64.b64decode(payload["y"]), dtype="<u2")
    assert_array_equal(y, np.sort(made.problem.y))


def test_the_data_check_is_on_the_page(driver, five, tmp_path):
    made, _ = five
    row = ColumnCheck("amount", "number", 0.25, 7, "comma as point")
    nr = ColumnCheck("the nr", "number", 0.0, 60, "identifier")
    findings = [
        Finding("identifier", "the nr", "60 rows are <b>there</b>.", "Leave it out.", drop=True),
        Finding("dates", "amount", "It holds dates.", warning=False),
    ]
    found, made.check = made.check, TableCheck(60, 60, [row, nr], findings)
    try:
        made.to_html(tmp_path / "page.html")
        private = render_page(made, private=True)
    finally:
        made.check = found
    clean = summarize(by_hand(check=TableCheck(60, 60, [row], [])), importance=False)["check"]
    assert (clean["drop"], clean["n_findings"]) == ("", 0)
    load(driver, tmp_path / "page.html")
    assert text(driver, "#check .warnings li") == "ST101: 60 rows are <b>there</b>. Leave it out."
    assert text(driver, "#check .findings:not(.warnings) li") == "ST110: It holds dates."
    assert text(driver, "#check pre") == "--drop 'the nr'"
    assert text(driver, "header .notice").startswith("The data check warns of one thing that may")
    cells = driver.execute_script(
        "return [...document.querySelectorAll('.check tbody tr > *')].map((c) => c.textContent)"
    )
    assert cells[:4] == ["amount", "number", "25.0%", "comma as point"]
    assert "The data check found 2 things to look at" in private
    assert "the nr" not in private
    assert "60 rows are" not in private
    assert "comma as point" not in private

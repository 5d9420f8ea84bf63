"""Long tables of the site are sorted by their headings and filtered by a field."""

from pathlib import Path

import pytest
from browser import load, missing, start

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")
SCRIPT = (Path(__file__).parents[2] / "docs" / "_static" / "tables.js").read_text()
FIRST = "return [...document.querySelectorAll('tbody tr:not([hidden])')].map(r => r.cells[0].textContent)"


def test_a_click_sorts_and_a_word_filters(tmp_path):
    seconds = ["9", "10", "", *map(str, range(100, 109))]
    rows = "".join(f"<tr><td>m{i}</td><td>{s}</td></tr>" for i, s in enumerate(seconds))
    head = "<thead><tr><th>name</th><th>seconds</th></tr></thead>"
    page = (
        f"<article><table>{head}<tbody>{rows}</tbody></table></article><script>{SCRIPT}</script>"
    )
    (tmp_path / "page.html").write_text(f"<!doctype html>{page}")
    driver = start()
    try:
        load(driver, tmp_path / "page.html")
        click = "document.querySelectorAll('button.sort')[1].click();"
        shown = driver.execute_script(click + FIRST)
        assert (shown[:2], shown[-1]) == (["m0", "m1"], "m2")  # 9 before 10; gaps last
        shown = driver.execute_script(click + FIRST)
        assert (shown[0], shown[-1]) == ("m11", "m2")
        driver.find_element("css selector", "input.filter").send_keys("M1 100")
        assert driver.execute_script(FIRST) == []
        driver.find_element("css selector", "input.filter").clear()
        driver.find_element("css selector", "input.filter").send_keys("m10")
        assert driver.execute_script(FIRST) == ["m10"]
    finally:
        driver.quit()

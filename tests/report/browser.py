"""A headless Chromium for the tests of the page, or the reason why there is none."""

import json
import shutil
import tempfile
from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def missing() -> str:
    """Return why the browser tests cannot run, or an empty string."""
    if BROWSER is None or DRIVER is None:
        return "no Chromium with its driver (Debian: apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "no selenium (pip install selenium)"
    return ""


def start():
    """Start a browser that logs its console and its requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tempfile.mkdtemp(prefix='stakes-browser-')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


def load(driver, path, *, width=1200, dark=False, media=""):
    """Open a page, as wide, dark or printed as asked."""
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {
            "media": media,
            "features": [
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce"},
            ],
        },
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    driver.get("about:blank")
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(path.as_uri() if isinstance(path, Path) else path)


def text(driver, css):
    return driver.execute_script("return document.querySelector(arguments[0]).textContent", css)


def type_price(driver, t, d, value):
    """Type into a cell as a person would: select what is there, type, leave with Tab."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    cell = driver.find_element(By.CSS_SELECTOR, f'#prices td[data-t="{t}"][data-d="{d}"] input')
    cell.send_keys(Keys.CONTROL, "a")
    cell.send_keys(str(value), Keys.TAB)
    settle(driver)
    return cell


def settle(driver):
    driver.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
    )


def complaints(driver):
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver):
    """Addresses that the page asked for, itself and its own data excepted."""
    sent = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            url = message["params"]["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:", "about:", "chrome:")):
                sent.append(url)
    return sent


def assert_no_sideways_scroll(driver):
    wide, shown = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= shown


def look_at(driver, key):
    """Choose the way to decide whose money the page shows."""
    driver.find_element("css selector", f'input[name=look][value="{key}"]').click()
    settle(driver)

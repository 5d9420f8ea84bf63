import pytest
from browser import missing, start


@pytest.fixture(scope="session")
def driver():
    """One browser for all tests of the page."""
    if missing():
        pytest.skip(missing())
    found = start()
    yield found
    found.quit()

"""What a shell may complete: the names of methods, data sets and files."""

import glob
from pathlib import Path


def complete_method(incomplete: str) -> list[str]:
    """Return the methods that a name, or the last of several, may become."""
    from stakes.compare.engine import all_methods

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in all_methods() if name.startswith(last)]


def complete_dataset(incomplete: str) -> list[str]:
    """Return the data sets that a name may become."""
    from stakes.datasets import list_datasets

    return [str(name) for name in list_datasets().index if str(name).startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """Return the files and data sets that a name may become."""
    files = sorted(glob.glob(glob.escape(incomplete) + "*"))
    files = [f"{file}/" if Path(file).is_dir() else file for file in files]
    return files + complete_dataset(incomplete)

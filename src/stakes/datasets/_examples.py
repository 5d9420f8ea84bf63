"""The tables that commands of the guide are typed on, and a copy of them where one stands."""

import os
from pathlib import Path

from stakes.utils._files import write_atomically

FOLDER = Path(__file__).parent / "tables"


def example_tables() -> dict[str, Path]:
    """Return where the tables of the guide lie in the package.

    Nobody in them is real: ``tools/tables.py`` draws them.

    Returns
    -------
    tables : dict of str to Path
        ``loans.csv`` (1,000 past loans, `risk` is good or bad), ``new.csv`` (the 200 that came
        next), ``triage.csv`` (patients with a cold, the flu or sepsis) with
        ``triage_prices.csv``, and ``letters.csv`` (what it cost to write to somebody and not to,
        known afterwards).

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.datasets import example_tables
    >>> loans = pd.read_csv(example_tables()["loans.csv"])
    >>> loans["risk"].value_counts().to_dict()
    {'good': 758, 'bad': 242}
    """
    return {path.name: path for path in sorted(FOLDER.glob("*.csv"))}


def write_examples(folder: str | os.PathLike = ".") -> list[Path]:
    """Write the tables of `example_tables` into a folder; files of these names are replaced.

    Parameters
    ----------
    folder : str or path, default="."
        An existing folder.

    Returns
    -------
    paths : list of Path
        What was written.

    Examples
    --------
    >>> import tempfile
    >>> from stakes.datasets import write_examples
    >>> [path.name for path in write_examples(tempfile.mkdtemp())]
    ['letters.csv', 'loans.csv', 'new.csv', 'triage.csv', 'triage_prices.csv']
    """
    written = []
    for name, path in example_tables().items():
        written.append(Path(folder) / name)
        write_atomically(written[-1], path.read_bytes())
    return written

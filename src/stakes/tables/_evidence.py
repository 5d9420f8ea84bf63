"""What the columns of a table give away: row numbers, the class itself, copied rows."""

import re
from typing import Any

import numpy as np

# Names of columns that tell rows apart.
NAMED = re.compile(
    r"(?:^|[\W_])(?:id|ids|uuid|guid|iban|ssn|e-?mail|phone|passport)(?:$|[\W_])", re.I
)
# With fewer rows, each has a value of its own by chance.
FEW_ROWS = 30
# Of the most frequent class: with fewer, a column can tell the others by chance.
FEW_MISTAKES = 10
# Whole numbers with as many digits, all with the same number of them, are codes.
CODE_DIGITS = 8
# Text of as many words is written by people.
MANY_WORDS = 4
# Bins of a number: this many of each class.
BINS = 32
# Copies are told from coincidences by the columns with the most values: so many of them.
TRIED = 10
# Pairs of rows that differ in one column alone, for each pair of equal rows: coincidences have more.
NEIGHBOURS = 0.2
# How much more often than any two rows those agree in a column that agree in all the others.
ABOVE_CHANCE = 10
# A value or a word is kept if at least so many rows have it: what fewer have may be somebody's name.
LEAST_ROWS = 5
# Rows that are hashed at a time: as many as a processor keeps at hand.
BLOCK = 1 << 15
GOLDEN = 0x9E3779B97F4A7C15


def looks_like_identifier(column: Any, name: str = "") -> bool:
    """Return whether a column tells rows apart rather than telling something about them.

    It does where nearly every row has a word of its own, or a whole number of its own that is
    a running number or a long code; a name such as "customer_id" is enough where most values
    are different. Measurements, dates and sentences do not, however different they are.

    Parameters
    ----------
    column : Series
        The values.
    name : str, default=""
        The column's name.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import looks_like_identifier
    >>> looks_like_identifier(pd.Series(range(1000, 1100)))
    True
    >>> looks_like_identifier(pd.Series([0.5, 1.25] * 50), "amount")
    False
    """
    present = column.dropna()
    if len(present) < 2 or column.dtype.kind in "Mmb":
        return False
    is_number = column.dtype.kind in "fiu"
    if is_number and not (present % 1 == 0).all():
        return False
    distinct = present.nunique() / len(present)
    # "customerId" is "customer Id" to a reader.
    if NAMED.search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)) and distinct > 0.5:
        return True
    if len(present) < FEW_ROWS or distinct < (0.999 if is_number else 0.95):
        return False
    if not is_number:
        return words_per_value(present) < MANY_WORDS
    values = present.to_numpy(dtype=np.float64)
    steps = np.diff(values)
    running = (steps > 0).all() or (steps < 0).all() or np.ptp(values) < 1.1 * len(column)
    size = np.abs(values)
    return bool(running or 10 * size.min() > size.max() > 10 ** (CODE_DIGITS - 1))


def find_identifiers(frame: Any) -> list[str]:
    """Return the columns of a table that tell rows apart; of numbers only whole ones.

    A number that was read as a fraction, as every one with gaps is, counts by its name alone.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables import find_identifiers
    >>> table = pd.DataFrame({"nr": range(40), "name": [f"n{i}" for i in range(40)], "age": [30, 41] * 20})
    >>> find_identifiers(table)
    ['nr', 'name']
    """
    names = []
    for place, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, place]
        named = NAMED.search(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))
        if column.dtype.kind == "f" and not named:
            continue
        if looks_like_identifier(_hashed(column), name):
            names.append(name)
    return names


def _hashed(column: Any) -> Any:
    """Return a column, lists and the like in it as text."""
    if column.dtype != object:
        return column
    try:
        column.nunique()
    except TypeError:
        return column.map(str, na_action="ignore")
    return column


def least_rows(n: int) -> int:
    """Return by how many rows of n a value must be shared to be kept by name.

    What fewer share may be somebody: five of a hundred or more, two of forty.

    Examples
    --------
    >>> from stakes.tables._evidence import least_rows
    >>> least_rows(1000), least_rows(40)
    (5, 2)
    """
    return int(np.clip(n // 20, 2, LEAST_ROWS))


def words_per_value(column: Any, limit: int = 1000) -> float:
    """Return how many words a text has on average."""
    texts = [str(value) for value in column.dropna().iloc[:limit]]
    return sum(len(text.split()) for text in texts) / max(len(texts), 1)


def tells_class(column: Any, y: np.ndarray, n_classes: int, enough: float = 0.9) -> float:
    """Return how far a column alone tells the class of rows that were not looked at.

    0 is no better than always deciding the most frequent class, 1 is no mistake. Values, or the
    bins of numbers, are given the class that is most frequent among them in one half of the
    rows; mistakes are counted in the other half, and the other way round.

    Parameters
    ----------
    column : Series
        The values; a missing one is a value as any other.
    y : ndarray of shape (n_samples,)
        Classes as positions.
    n_classes : int
        The number of classes.
    enough : float, default=0.9
        A column that tells less than this of the very rows that were looked at tells 0.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from stakes.tables._evidence import tells_class
    >>> y = np.array([0, 1] * 50)
    >>> tells_class(pd.Series(np.where(y == 1, "late", "paid")), y, 2)
    1.0
    >>> tells_class(pd.Series(np.arange(100)), y, 2)
    0.0
    """
    codes, ordered = _class_bins(column, y, n_classes)
    n_codes = int(codes.max()) + 1
    totals = np.bincount(y, minlength=n_classes)
    mistakes = len(y) - totals.max()  # of the most frequent class
    cells = codes * n_classes + y
    whole = np.bincount(cells, minlength=n_codes * n_classes).reshape(n_codes, n_classes)
    if mistakes < FEW_MISTAKES or len(y) - whole.max(axis=1).sum() > (1 - enough) * mistakes:
        return 0.0
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    first = np.bincount(cells[half], minlength=n_codes * n_classes).reshape(whole.shape)
    right = 0
    for learned, tested in ((first, whole - first), (whole - first, first)):
        known = learned.any(axis=1)
        decided = np.where(known, learned.argmax(axis=1), learned.sum(axis=0).argmax())
        if ordered:  # a bin without rows is decided as the nearest one with rows
            there, every = np.flatnonzero(known), np.arange(n_codes)
            after = np.minimum(np.searchsorted(there, every), len(there) - 1)
            before = np.maximum(after - 1, 0)
            nearer = every - there[before] < there[after] - every
            decided = decided[there[np.where(nearer, before, after)]]
        right += int(tested[np.arange(n_codes), decided].sum())
    return float(max(0.0, 1 - (len(y) - right) / mistakes))


def _class_bins(column: Any, y: np.ndarray, n_classes: int) -> tuple[np.ndarray, bool]:
    """Return a code for each value, numbers cut at the quantiles of each class; and if they are."""
    import pandas as pd

    if column.dtype.kind in "fiuM":
        values = column.to_numpy()
        if values.dtype.kind == "M":
            values = np.where(np.isnat(values), np.nan, values.astype(np.int64))
        values = values.astype(np.float64)
        known = ~np.isnan(values)
        there, labels = values[known], y[known]
        of_class = (np.sort(there[labels == k]) for k in range(n_classes))
        cuts = [
            v[np.linspace(0, len(v) - 1, BINS).round().astype(int)] for v in of_class if len(v)
        ]
        edges = np.unique(np.concatenate(cuts)) if cuts else np.zeros(0)
        # A cut has a code of its own, and so has what lies between two cuts.
        low = np.searchsorted(edges, there)
        codes = np.full(len(values), 2 * len(edges) + 1)
        codes[known] = 2 * low + (np.append(edges, np.nan)[low] == there)
        return codes, True
    return pd.factorize(column, use_na_sentinel=False)[0], False


# -- copied rows ---------------------------------------------------------------------------------


def hash_rows(frame: Any) -> np.ndarray:
    """Return a number for each row, the same for equal rows."""
    total = np.zeros(len(frame), dtype=np.uint64)
    for place in range(frame.shape[1]):
        total += _mix(_hash_column(frame.iloc[:, place]), place)
    return total


def _hash_column(column: Any) -> np.ndarray:
    import pandas as pd

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iub":
        return column.to_numpy(dtype=np.int64).view(np.uint64)
    if column.dtype.kind in "fiub":
        values = column.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0  # no negative zero
        values[np.isnan(values)] = np.nan
        return values.view(np.uint64)
    try:
        return pd.util.hash_pandas_object(column, index=False).to_numpy()
    except TypeError:  # lists and the like
        return pd.util.hash_pandas_object(column.astype(str), index=False).to_numpy()


def _mix(values: np.ndarray, place: int) -> np.ndarray:
    """Spread numbers over all 64 bits, in another way for each place."""
    mixed = np.empty_like(values)
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK] + np.uint64((place + 1) * GOLDEN % 2**64)
        for shift, factor in ((32, 0xBF58476D1CE4E5B9), (29, 0x94D049BB133111EB)):
            block *= np.uint64(factor)
            block ^= block >> np.uint64(shift)
        mixed[start : start + BLOCK] = block
    return mixed


def duplicate_groups(frame: Any) -> np.ndarray:
    """Return the number of the first row that is equal, for each row.

    Examples
    --------
    >>> import pandas as pd
    >>> from stakes.tables._evidence import duplicate_groups
    >>> duplicate_groups(pd.DataFrame({"a": [1, 2, 1], "b": ["x", "x", "x"]})).tolist()
    [0, 1, 0]
    """
    hashed = hash_rows(frame)
    order = np.argsort(hashed, kind="stable")
    ordered = hashed[order]
    new = np.ones(len(ordered), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = order[new][np.cumsum(new) - 1]
    groups = np.empty(len(order), dtype=np.intp)
    groups[order] = first
    return groups


def are_copies(frame: Any, rows: np.ndarray) -> bool:
    """Return whether the equal rows of a table are copies, and no coincidence.

    Where few values are possible, rows are equal by coincidence, and then others are equal but for
    one column, in which they agree about as often as any two rows do. Copies have no such
    neighbours.

    Parameters
    ----------
    frame : DataFrame
        The table.
    rows : ndarray
        Some rows, to see how often two rows agree in a column.
    """
    total, columns = hash_rows(frame), [frame.iloc[:, c] for c in range(frame.shape[1])]
    chance = np.array([_pairs(_hash_column(column.iloc[rows])) for column in columns])
    chance /= max(len(rows) * (len(rows) - 1) / 2, 1)
    agree = _pairs(total)
    for c in np.argsort(chance, kind="stable")[:TRIED].tolist():
        nearly = _pairs(total - _mix(_hash_column(columns[c]), c))
        if nearly - agree > NEIGHBOURS * agree and agree < ABOVE_CHANCE * chance[c] * nearly:
            return False
    return agree > 0


def _pairs(values: np.ndarray) -> float:
    """Return how many pairs of rows are equal."""
    ordered = np.sort(values)
    ends = np.flatnonzero(np.r_[ordered[1:] != ordered[:-1], True])
    counts = np.diff(ends, prepend=-1).astype(float)
    return float((counts * (counts - 1) / 2).sum())

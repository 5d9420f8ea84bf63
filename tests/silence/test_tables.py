"""Tries at silence where tables come in: each is decided right, or refused, or said.

A model is fitted once; then the table that it decides is written otherwise: other types, another
order, another library, another file. Whoever gets other decisions must have been told.
"""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from stakes.auto import StakesClassifier
from stakes.compare import fit_model
from stakes.tables import TableError, read_table

COSTS = [[0, 1], [3, 0]]
N = 90


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    size = rng.normal(5_000, 900, n).round(2)
    job = rng.choice(["cook", "smith", "Zoë", "NA"], n)
    since = pd.Timestamp("2020-02-29") + pd.to_timedelta(rng.integers(2_000, size=n), "D")
    words = np.array(["parcel", "letter", "stamp", "loan", "credit", "mortgage"])
    note = [f"the {a} and the {b} of {i}" for i, (a, b) in enumerate(rng.choice(words, (n, 2)))]
    paid, age = rng.random(n) < 0.5, rng.integers(18, 80, n)
    frame = {"size": size, "age": age, "job": job, "since": since, "paid": paid, "note": note}
    return pd.DataFrame(frame)


def truth(frame):
    told = (frame["size"] > 5_000).astype(float) + (frame["job"] == "cook") + 0.5 * frame["paid"]
    told += (frame["since"] > "2022-11-01") + frame["note"].str.contains("loan")
    return (told > 2.2).astype(int).to_numpy()


@pytest.fixture(scope="module", params=["plain", "default"])
def model(request):
    X = table(400, seed=1)
    if request.param == "default":
        quick = StakesClassifier(COSTS, members=["linear", "words"], cv=2, random_state=0)
        return quick.fit(X, truth(X))
    return fit_model(X, truth(X), "mec", cost_matrix=COSTS, fast=True)


def local(values):
    """Write numbers as in Germany."""
    return [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in values]


def changed(**columns):
    return lambda X: X.assign(**{name: change(X[name]) for name, change in columns.items()})


# What may be done to a table, and what must come of it: "right", "refused" or "said".
TYPES = {
    "size as float32": (changed(size=lambda c: c.astype("float32")), "right"),
    "size as Float64": (changed(size=lambda c: c.astype("Float64")), "right"),
    "size as object": (changed(size=lambda c: c.astype(object)), "right"),
    "size as text": (changed(size=lambda c: c.astype(str)), "right"),
    "size as spaced text": (changed(size=lambda c: " " + c.astype(str) + " "), "right"),
    "size as categories": (changed(size=lambda c: c.astype(str).astype("category")), "right"),
    "size as in Germany": (changed(size=local), "refused"),
    "size with a unit": (changed(size=lambda c: c.astype(str) + " EUR"), "refused"),
    "size as dates": (changed(size=lambda c: pd.to_datetime(c, unit="D")), "refused"),
    "size with two words": (
        changed(size=lambda c: c.astype(str).where(c.index > 1, "unknown value")),
        "said",
    ),
    "age as Int64": (changed(age=lambda c: c.astype("Int64")), "right"),
    "age as int8": (changed(age=lambda c: c.astype("int8")), "right"),
    "age as float": (changed(age=lambda c: c.astype(float)), "right"),
    "age as text": (changed(age=lambda c: c.astype(str)), "right"),
    "age as words": (changed(age=lambda c: "n" + c.astype(str)), "refused"),
    "age with lines between": (changed(age=lambda c: c.astype(str).str[0] + "_0"), "refused"),
    "age as hex": (changed(age=lambda c: c.map(hex)), "refused"),
    "job as object": (changed(job=lambda c: c.astype(object)), "right"),
    "job as categories": (changed(job=lambda c: c.astype("category")), "right"),
    "job in another order": (
        changed(job=lambda c: pd.Categorical(c, ["NA", "Zoë", "smith", "cook", "spy"])),
        "right",
    ),
    "job as dates": (changed(job=lambda c: pd.Timestamp("2024-01-01")), "refused"),
    "since as text": (changed(since=lambda c: c.dt.strftime("%Y-%m-%d")), "right"),
    "since with times": (changed(since=lambda c: c.dt.strftime("%Y-%m-%dT00:00:00")), "right"),
    "since in seconds": (changed(since=lambda c: c.astype("datetime64[s]")), "right"),
    "since in Greenwich": (changed(since=lambda c: c.dt.tz_localize("UTC")), "right"),
    "since as date objects": (changed(since=lambda c: c.dt.date), "right"),
    "since as days": (changed(since=lambda c: c.astype("int64") // 86_400_000_000), "refused"),
    "since as in England": (changed(since=lambda c: c.dt.strftime("%d/%m/%Y")), "refused"),
    "since as numbers in text": (changed(since=lambda c: c.dt.strftime("%Y%m%d")), "refused"),
    "paid as numbers": (changed(paid=lambda c: c.astype(int)), "right"),
    "paid as boolean": (changed(paid=lambda c: c.astype("boolean")), "right"),
    "paid as words": (changed(paid=lambda c: c.map({True: "yes", False: "no"})), "right"),
    "paid as other words": (changed(paid=lambda c: c.map({True: "ja", False: "nein"})), "refused"),
    "paid as an amount": (changed(paid=lambda c: 20.0 * c + 5), "refused"),
    "note as object": (changed(note=lambda c: c.astype(object)), "right"),
    "note as categories": (changed(note=lambda c: c.astype("category")), "right"),
    "note as numbers": (changed(note=lambda c: np.arange(len(c))), "refused"),
    "note in capitals": (changed(note=lambda c: c.str.upper()), "right"),
}
SHAPES = {
    "another index": (lambda X: X.set_axis(np.arange(len(X))[::-1] + 7), "right"),
    "an index of doubles": (lambda X: X.set_axis(np.zeros(len(X), dtype=int)), "right"),
    "an index of words": (lambda X: X.set_axis([f"r{i}" for i in range(len(X))]), "right"),
    "an index of two": (
        lambda X: X.set_axis(pd.MultiIndex.from_arrays([np.arange(len(X)), ["a"] * len(X)])),
        "right",
    ),
    "columns turned round": (lambda X: X[X.columns[::-1]], "right"),
    "a column more": (lambda X: X.assign(more=1.0), "right"),
    "a column less": (lambda X: X.drop(columns="age"), "refused"),
    "a column twice": (lambda X: pd.concat([X, X[["age"]]], axis=1), "refused"),
    "another name": (lambda X: X.rename(columns={"age": "Age"}), "refused"),
    "numbers alone": (lambda X: X[["size", "age"]].to_numpy(), "refused"),
}
TRIES = TYPES | SHAPES


def outcome(model, X, expected):
    """Return what comes of deciding: "right", "refused", "said", or "silent"."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            decided = model.predict(X)
        except (ValueError, TypeError):
            return "refused"
    if [w for w in said if issubclass(w.category, UserWarning)]:
        return "said"
    return "right" if np.array_equal(decided, expected) else "silent"


def is_default(model):
    return isinstance(model, StakesClassifier)


@pytest.mark.parametrize("name", TRIES)
def test_a_table_that_is_written_otherwise(model, name):
    X = table()
    change, wanted = TRIES[name]
    if is_default(model) and name in ("columns turned round", "a column more"):
        wanted = "refused"  # as by any estimator of scikit-learn
    assert outcome(model, change(X), model.predict(X)) == wanted


PAIRS = [pair for pair in combinations(TRIES, 2) if pair[0].split()[0] != pair[1].split()[0]]


def try_pairs(model, pairs):
    """Try two things at once; return how many went together, and those that came out silent."""
    X = table()
    expected, n, silent = model.predict(X), 0, []
    for first, second in pairs:
        (one, said_of_one), (two, said_of_two) = TRIES[first], TRIES[second]
        try:
            changed_twice = two(one(X))
        except (KeyError, AttributeError, TypeError, ValueError):
            continue  # the second does not go with the first
        came, n = outcome(model, changed_twice, expected), n + 1
        both_right = said_of_one == said_of_two == "right" and not is_default(model)
        if came == "silent" or (both_right and came != "right"):
            silent.append((first, second, came))
    return n, silent


def test_two_things_at_once(model):
    n, silent = try_pairs(model, np.random.default_rng(0).permutation(PAIRS)[:60])
    assert n > 40
    assert silent == []


@pytest.mark.slow
def test_every_two_things_at_once(model):
    n, silent = try_pairs(model, PAIRS)
    assert n > 700
    assert silent == []


@pytest.mark.parametrize("column", ["size", "age", "job", "since", "paid", "note"])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, "empty", "all"])
def test_gaps_are_decided(model, column, missing):
    X = table()
    cells = X[column].astype(object)
    gap = {"empty": "", "all": None}.get(missing, missing) if isinstance(missing, str) else missing
    rows = (
        np.ones(N, dtype=bool)
        if isinstance(missing, str) and missing == "all"
        else X.index % 5 == 0
    )
    cells = cells.mask(rows, None) if gap is None else cells.where(~rows, gap)
    untouched = model.predict(X)[~rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.predict(X.assign(**{column: cells}))[~rows], untouched)


# -- files -------------------------------------------------------------------------------------


def written(X, path, **how):
    X = X.assign(paid=X["paid"].map({True: "yes", False: "no"}))
    X.to_csv(path, index=False, date_format="%Y-%m-%d", **how)
    return path


FILES = {
    "plain": ({}, {}, "right"),
    "semicolons": ({"sep": ";"}, {}, "right"),
    "tabs": ({"sep": "\t"}, {}, "right"),
    "bars": ({"sep": "|"}, {}, "right"),
    "carriage returns": ({"lineterminator": "\r\n"}, {}, "right"),
    "all quoted": ({"quoting": 1}, {}, "right"),
    "a mark of the order of bytes": ({"encoding": "utf-8-sig"}, {}, "right"),
    "Latin-1, said": ({"encoding": "latin-1"}, {"encoding": "latin-1"}, "right"),
    "Latin-1, not said": ({"encoding": "latin-1"}, {}, "refused"),
    "decimal commas": ({"sep": ";", "decimal": ","}, {}, "said"),
    "points between thousands": ({"sep": ";", "size": local}, {}, "said"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_written_otherwise(model, name, tmp_path):
    how, options, wanted = FILES[name]
    how = dict(how)
    X = table()
    trained = read_table(written(table(400, seed=1), tmp_path / "train.csv")).readings
    change = how.pop("size", None)
    new = X if change is None else X.assign(size=change(X["size"]))
    path = written(new, tmp_path / "new.csv", **how)
    try:
        found = read_table(path, readings=trained, **options)
    except TableError:
        assert wanted == "refused"
        return
    if found.unreadable:
        assert wanted == "said"
        return
    decided = model.predict(found.frame)
    assert wanted == "right"
    np.testing.assert_array_equal(decided, model.predict(X))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_table_of_another_library(model, library):
    X = table()
    if library == "polars":
        polars = pytest.importorskip("polars")
        other = polars.from_pandas(X)
    else:
        import pyarrow

        other = pyarrow.Table.from_pandas(X, preserve_index=False)
    np.testing.assert_array_equal(model.predict(other), model.predict(X))


def test_rows_in_another_order_are_decided_alike(model):
    X = table()
    order = np.random.default_rng(0).permutation(N)
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X.iloc[order]), expected[order])
    alone = [model.predict(X.iloc[[i]])[0] for i in range(10)]
    np.testing.assert_array_equal(alone, expected[:10])

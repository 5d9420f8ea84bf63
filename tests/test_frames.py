"""pandas, polars and pyarrow are one thing: the same table, the same decisions, bit for bit."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from stakes.compare import compare, fit_model
from stakes.compare._problem import make_problem
from stakes.compare._registry import all_methods
from stakes.costs import CostMatrix, check_cost_matrix, check_costs
from stakes.decision import CostDecisionClassifier
from stakes.metrics import average_cost
from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.utils._frames import as_column, as_frame, kind_of, numbers_of
from tests.instances import all_estimators, make_instance

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

# Missing the last class is expensive; never symmetric.
C = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
N = 60
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
LIBRARIES = {
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "batch": pa.RecordBatch.from_pandas,
    "nullable": pd.DataFrame.convert_dtypes,
    "arrow-backed": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
}
THREE = ["pandas", "polars", "pyarrow"]


def numbers():
    """Return fractions, whole numbers and booleans, none of them missing."""
    rng = np.random.default_rng(0)
    codes = np.arange(N) % 3
    return pd.DataFrame(
        {
            "amount": rng.normal(size=N) + codes,
            "count": rng.integers(0, 9, N) + codes,
            "flag": rng.random(N) < 0.5,
        }
    )


def mixed():
    """Return numbers, booleans, categories, text and dates, with gaps."""
    rng = np.random.default_rng(1)
    gap = lambda values: pd.Series(values).mask(rng.random(N) < 0.15)  # noqa: E731
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D")
    frame = numbers().assign(
        rate=gap(rng.normal(size=N)),
        seen=gap(pd.array(rng.random(N) < 0.4, dtype="boolean")),
        job=gap(rng.choice(["cook", "smith", "baker"], N)),
        grade=pd.Categorical(rng.choice(["low", "mid", "high"], N), ["low", "mid", "high"]),
        when=gap(days),
    )
    # Which column is refused first is a matter of how pandas has laid them out.
    return pd.DataFrame({name: column.array for name, column in frame.items()})


TABLES = {"numbers": numbers(), "mixed": mixed()}


def given_as(library, frame):
    return frame if library == "pandas" else LIBRARIES[library](frame)


def outcome(model, X):
    """Return the decisions, or the sentence of the refusal."""
    try:
        return model.fit(X, LABELS).predict(X).tolist()
    except (TypeError, ValueError) as error:
        return str(error)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("cls", [cls for _, cls in all_estimators()], ids=lambda cls: cls.__name__)
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_every_estimator_decides_the_same_or_refuses_in_the_same_words(cls, table):
    frame = TABLES[table]
    model = make_instance(cls)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if "cost_matrix" in model.get_params():
        model.set_params(cost_matrix=C)
    wanted = outcome(clone(model), frame)
    for library in ("polars", "pyarrow"):
        assert outcome(clone(model), given_as(library, frame)) == wanted, library


# -- what a table is brought to -------------------------------------------------------------------


def every_type():
    return pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "small": np.array([1, 2, 3], dtype=np.uint8),
            "fraction": [1.5, np.nan, 2.25],
            "single": np.array([0.1, 0.2, 0.3], dtype=np.float32),
            "whole_gap": pd.array([1, None, 3], dtype="Int64"),
            "objects": pd.Series([1, None, 2.5], dtype=object),
            "exact": [Decimal("1.5"), None, Decimal(2)],
            "flag": [True, False, True],
            "flag_gap": [True, None, False],
            "text": ["a", None, "b"],
            "grade": pd.Categorical(["x", "y", None], ["y", "x", "z"]),
            "when": pd.to_datetime(["2024-01-01 12:00", None, "2024-03-01 00:00"]),
            "zoned": pd.to_datetime(["2024-01-01", None, "2024-03-01"]).tz_localize(
                "Europe/Paris"
            ),
            "day": [dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)],
            "span": pd.to_timedelta([1, None, 36], unit="h"),
            "nothing": [None, None, None],
        }
    )


KIND_OF = (
    dict.fromkeys(
        ("whole", "small", "fraction", "single", "whole_gap", "objects", "exact"), "number"
    )
    | dict.fromkeys(("flag", "flag_gap"), "boolean")
    | dict.fromkeys(("text", "nothing"), "text")
    | {"grade": "category"}
    | dict.fromkeys(("when", "zoned", "day", "span"), "time")
)


@pytest.mark.parametrize("library", ["pandas", *LIBRARIES])
def test_every_type_of_column_is_brought_to_one_form(library):
    made, wanted = as_frame(given_as(library, every_type())), as_frame(every_type())
    assert {name: kind_of(dtype) for name, dtype in made.dtypes.items()} == KIND_OF
    for name in made:
        if kind_of(made[name].dtype) in ("category", "text"):
            assert made[name].dropna().tolist() == wanted[name].dropna().tolist()
            assert_array_equal(made[name].isna(), wanted[name].isna())
        else:
            assert_array_equal(numbers_of(made[name]), numbers_of(wanted[name]))


def test_dates_are_days_and_spans_seconds_by_hand():
    frame = as_frame(every_type())
    # 2024-01-01 is day 19,723 since 1970; in Paris it began an hour before it did in Greenwich.
    assert_array_equal(numbers_of(frame["when"]), [19723.5, np.nan, 19783.0])
    assert numbers_of(frame["zoned"])[0] == 19723.0 - 1 / 24
    assert_array_equal(numbers_of(frame["day"]), [19723.0, np.nan, 19725.0])
    assert_array_equal(numbers_of(frame["span"]), [3600.0, np.nan, 129600.0])
    nanoseconds = frame["when"].astype("datetime64[ns]")
    assert_array_equal(numbers_of(nanoseconds), numbers_of(frame["when"]))


def test_a_plain_pandas_frame_is_handed_on_as_it_is():
    frame = mixed()
    assert as_frame(frame) is frame
    with_objects = frame.astype({"job": object})
    assert as_frame(with_objects) is with_objects
    before = every_type()
    as_frame(before)
    assert_frame_equal(before, every_type())


def test_what_is_no_table_is_handed_on_as_it_is():
    for X in ([[1, 2]], np.eye(2), "text", None, 3.0):
        assert as_frame(X) is X


def test_a_lazy_table_is_refused():
    lazy = pl.from_pandas(numbers()).lazy()
    with pytest.raises(TypeError, match="LazyFrame is a lazy table, .*: collect it first"):
        CostTreeClassifier().fit(lazy, LABELS)
    with pytest.raises(TypeError, match="LazyFrame is a lazy table, .*: collect it first"):
        compare(lazy, LABELS)


def test_the_index_of_pandas_in_a_pyarrow_table_is_no_column():
    frame = numbers().iloc[::-1].set_axis([f"row {i}" for i in range(N)])
    table = pa.Table.from_pandas(frame)
    assert "__index_level_0__" in table.column_names
    assert list(as_frame(table)) == list(frame)


# -- trees: which columns are categories --------------------------------------------------------------


@pytest.mark.parametrize("library", THREE)
@pytest.mark.parametrize("cls", [CostTreeClassifier, CostForestClassifier])
def test_numbers_are_no_categories(cls, library):
    # Rows of class 1 lie above 0: one cut. As 200 categories, new values would all be unseen.
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    X = given_as(library, pd.DataFrame({"x": x, "noise": rng.normal(size=200)}))
    model = cls([[0, 1], [5, 0]], random_state=0).fit(X, x > 0)
    assert not model.bins_.is_categorical.any()
    new = given_as(library, pd.DataFrame({"x": [-0.5, 0.5], "noise": [0.0, 0.0]}))
    assert model.predict(new).tolist() == [False, True]


@pytest.mark.parametrize("library", THREE)
def test_dates_are_cut_where_they_are_not_seen(library):
    when = pd.date_range("2024-01-01", periods=100, freq="2D")
    late = when >= "2024-05-01"
    model = CostTreeClassifier().fit(given_as(library, pd.DataFrame({"when": when})), late)
    new = pd.DataFrame({"when": pd.to_datetime(["2024-02-02", "2024-06-01", "2030-01-01"])})
    assert model.predict(given_as(library, new)).tolist() == [False, True, True]


@pytest.mark.parametrize("library", THREE)
def test_gaps_alone_are_numbers_where_numbers_were_learned(library):
    frame = pd.DataFrame({"x": np.arange(40.0), "job": ["cook", "smith"] * 20})
    model = CostTreeClassifier().fit(given_as(library, frame), frame["x"] > 20)
    gap = pd.DataFrame({"x": [None], "job": ["cook"]})
    assert model.predict(given_as(library, gap)).tolist() == [False]


def test_other_columns_than_in_training_are_refused():
    frame = mixed()[["amount", "job", "when"]]
    model = CostTreeClassifier(C).fit(frame, LABELS)
    with pytest.raises(
        ValueError, match="'amount' held numbers in training, but holds str|object"
    ):
        model.predict(frame.assign(amount="12"))
    with pytest.raises(ValueError, match="'when' held dates in training, but holds int64 values"):
        model.predict(frame.assign(when=19_723))
    assert_array_equal(
        model.predict(frame.assign(when=None)), model.predict(frame.assign(when=pd.NaT))
    )
    flags = CostTreeClassifier(C).fit(frame.assign(amount=1.0 * numbers()["flag"]), LABELS)
    same = [flags.predict(frame.assign(amount=numbers()["flag"].astype(t))) for t in (bool, int)]
    assert_array_equal(*same)


@pytest.mark.parametrize("dtype", [float, int, "Int64", object])
def test_zero_and_one_are_false_and_true(dtype):
    flags = pd.DataFrame({"flag": [True, False] * 20})
    model = CostTreeClassifier().fit(flags, flags["flag"])
    assert_array_equal(model.predict(flags.astype(dtype)), flags["flag"])


# -- names, and everything beside X ------------------------------------------------------------------


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_names_and_numbers_of_features_are_those_of_pandas(library):
    frame = numbers()
    for model in (
        CostTreeClassifier(),
        CostDecisionClassifier(LogisticRegression(), cost_matrix=C),
    ):
        fitted = clone(model).fit(given_as(library, frame), LABELS)
        assert fitted.feature_names_in_.tolist() == list(frame)
        assert fitted.n_features_in_ == 3
        turned = given_as(library, frame[["flag", "count", "amount"]])
        with pytest.raises(ValueError, match="feature names should match"):
            fitted.predict(turned)


SERIES = {
    "polars": pl.Series,
    "polars categories": lambda values: pl.Series(values).cast(pl.String).cast(pl.Categorical),
    "pyarrow": pa.array,
    "pyarrow chunks": lambda values: pa.chunked_array([pa.array(values[:20]), values[20:]]),
    "pyarrow dictionary": lambda values: pa.array(values).dictionary_encode(),
    "pandas": pd.Series,
    "pandas categories": lambda values: pd.Series(values, dtype="category"),
}


@pytest.mark.parametrize("make", SERIES.values(), ids=SERIES)
def test_labels_of_any_library(make):
    X, y = numbers(), make(LABELS)
    model = CostTreeClassifier(C).fit(X, LABELS)
    assert_array_equal(as_column(y), LABELS)
    assert_array_equal(CostTreeClassifier(C).fit(X, y).predict(X), model.predict(X))
    assert model.score(X, y) == model.score(X, LABELS)
    paid = average_cost(LABELS, model.predict(X), cost_matrix=C)
    assert average_cost(y, make(model.predict(X)), cost_matrix=C) == paid
    assert make_problem(X, y).fingerprint() == make_problem(X, LABELS).fingerprint()


@pytest.mark.parametrize("make", [pl.Series, pa.array, pd.Series])
def test_numbers_as_labels_and_weights_of_any_library(make):
    X, codes, weight = numbers(), np.arange(N) % 3, np.arange(N) % 4 + 0.5
    wanted = CostTreeClassifier(C).fit(X, codes, sample_weight=weight)
    model = CostTreeClassifier(C).fit(X, make(codes), sample_weight=make(weight))
    assert model.classes_.tolist() == [0, 1, 2]
    assert_array_equal(model.expected_costs(X), wanted.expected_costs(X))
    given = {"sample_weight": make(weight)}
    assert model.score(X, codes, **given) == wanted.score(X, codes, sample_weight=weight)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_costs_in_tables_are_aligned_by_their_names(library):
    rng = np.random.default_rng(3)
    costs = pd.DataFrame(rng.uniform(1, 9, (N, 3)), columns=["c", "a", "b"])
    found = check_costs(given_as(library, costs), n_samples=N, classes=["a", "b", "c"])
    assert_array_equal(found, costs[["a", "b", "c"]])
    tensor = rng.uniform(1, 9, (N, 3, 3))
    nested = {"polars": pl.Series, "pyarrow": pa.array}[library](tensor.tolist())
    model = CostTreeClassifier().fit(numbers(), LABELS, cost_tensor=nested)
    wanted = CostTreeClassifier().fit(numbers(), LABELS, cost_tensor=tensor)
    assert_array_equal(
        model.predict(numbers(), cost_tensor=nested), wanted.predict(numbers(), cost_tensor=tensor)
    )


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_cost_table_without_an_index_is_read_by_its_names(library):
    wanted = [[0, 1], [50, 0]]  # of the classes "bad" and "good"
    turned = pd.DataFrame([[0, 50], [1, 0]], columns=["good", "bad"])
    assert check_cost_matrix(given_as(library, turned), classes=["bad", "good"]).tolist() == wanted
    named = pd.DataFrame({"true": ["good", "bad"], "bad": [50, 0], "good": [0, 1]})
    assert check_cost_matrix(given_as(library, named), classes=["bad", "good"]).tolist() == wanted
    assert CostMatrix.from_frame(given_as(library, named)).cost(true="good", predicted="bad") == 50
    strange = pd.DataFrame([[0, 1], [50, 0]], columns=["x", "y"])
    with pytest.raises(ValueError, match="it lacks 'bad', 'good', which y has"):
        check_cost_matrix(given_as(library, strange), classes=["bad", "good"])


def test_a_pipeline_sees_the_table_that_was_given():
    def amount(X):
        assert isinstance(X, pl.DataFrame)
        return X.select("amount").to_numpy()

    piped = make_pipeline(FunctionTransformer(amount), LogisticRegression())
    model = CostDecisionClassifier(piped, cost_matrix=C, calibration="vector", cv=3)
    bare = clone(model).set_params(estimator=LogisticRegression())
    X = pl.from_pandas(numbers())
    decided = model.fit(X, LABELS).predict(X)
    assert_array_equal(
        decided, bare.fit(numbers()[["amount"]], LABELS).predict(numbers()[["amount"]])
    )


# -- the whole way -------------------------------------------------------------------------------------

COMPARED = [
    name
    for name, method in all_methods().items()
    if method.cls.__module__.startswith("stakes.") and name not in ("stakes", "bacing")
]


def test_the_same_problem_from_every_library():
    found = {make_problem(given_as(name, mixed()), LABELS).fingerprint() for name in THREE}
    assert len(found) == 1


@pytest.mark.filterwarnings("ignore")  # tiny data
def test_every_method_of_compare_decides_the_same():
    rows = np.arange(N)
    given = {"cost_matrix": CostMatrix(C, labels=["a", "b", "c"]), "fast": True}
    found = {
        name: compare(
            given_as(name, mixed()), LABELS, methods=COMPARED, cv=[(rows[:42], rows[42:])], **given
        )
        for name in THREE
    }
    done = [n for n, result in found["pandas"].results.items() if result.status == "ok"]
    assert len(done) >= 12, {n: r.reason for n, r in found["pandas"].results.items()}
    for name in ("polars", "pyarrow"):
        for method in done:
            result, wanted = (found[library].results[method] for library in (name, "pandas"))
            assert_array_equal(result.decisions, wanted.decisions, err_msg=f"{method}, {name}")
            assert_array_equal(result.proba, wanted.proba, err_msg=f"{method}, {name}")


@pytest.mark.parametrize("method", ["tree", "mec", "constant"])
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_a_model_takes_new_rows_of_any_library(method):
    model = fit_model(pl.from_pandas(mixed()), pl.Series(LABELS), method, cost_matrix=C)
    wanted = model.decide(mixed())
    for library in ("polars", "pyarrow"):
        assert_frame_equal(model.decide(given_as(library, mixed())), wanted)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
@pytest.mark.filterwarnings("ignore")  # tiny data
def test_what_else_compare_takes_may_come_from_any_library(library):
    make = {"polars": pl.Series, "pyarrow": lambda v: pa.array(v).dictionary_encode()}[library]
    prices = pd.DataFrame(C, columns=["a", "b", "c"])
    today, apart = np.roll(LABELS, 1), np.arange(N)

    def costs(X, y, cost_matrix, **given):
        given = {"cost_matrix": cost_matrix, "methods": ["tree"], "cv": 2, **given}
        return compare(X, y, **given).table["cost"].to_dict()

    for name, values in {"groups": apart // 6, "time": apart, "test": apart >= 42}.items():
        given = {"baseline": make(today), name: make(values)}
        wanted = {"baseline": today, name: values}
        assert costs(
            given_as(library, numbers()), make(LABELS), given_as(library, prices), **given
        ) == costs(numbers(), LABELS, prices.set_axis(prices.columns), **wanted)


def test_decisions_have_the_index_of_their_rows():
    frame = pd.DataFrame({"x": np.arange(N) % 3}, index=np.arange(N)[::-1] + 100)
    model = fit_model(frame, pd.Series(LABELS, index=frame.index), "tree", cost_matrix=C)
    decided = model.decide(frame)
    assert decided.index.equals(frame.index)
    assert (frame.assign(said=decided["decision"])["said"] == LABELS).all()
    assert model.decide(pl.from_pandas(frame)).index.equals(pd.RangeIndex(N))


@pytest.mark.parametrize("labels", [[True, False], [3, 7]])
def test_labels_that_came_as_objects_are_what_they_are(labels):
    y = pd.Series([None, *labels * 20], dtype=object).dropna()
    X = np.arange(40)[:, None] % 2
    tree = CostTreeClassifier().fit(X, y)
    assert tree.predict(X).tolist() == y.tolist()
    assert tree.score(X, y) == 0
    assert compare(X, y, methods=["tree"], cv=2, check=False).classes.tolist() == sorted(labels)

"""Every estimator, called with odd data, costs, weights and parameters: it answers or says why not."""

import inspect
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from stakes.costs import CostMatrix
from stakes.decision import ProbabilityCalibrator
from stakes.decision._rule import known_rules
from tests.figures import record
from tests.fuzz.children import run_in_children
from tests.instances import all_estimators, make_instance

QUICK = {"n_estimators": 2, "max_iter": 20, "cv": 2, "members": ["linear", "gaussian"]}
# Ours: the methods of other packages, such as the example of these tests, are theirs to mend.
CLASSES = [cls for _, cls in all_estimators() if cls.__module__.startswith("stakes.")]
RULES = [*known_rules().values(), ProbabilityCalibrator]
ODD_PARAMETERS = (
    0, 1, 2, -1, 0.5, 1.0, 1.5, -0.5, 40, float("nan"), float("inf"), None, True, "", "auto", [],
    [0], ["x"], {}, (1, 2), np.zeros(3), object(), lambda x: x,
)  # fmt: skip


# -- odd data ------------------------------------------------------------------------------------


def odd_X(rng, n):
    """Return a table of n rows, often an odd one."""
    numbers = np.random.default_rng(rng.randrange(10**6)).normal(size=(n, rng.choice([1, 2, 4])))
    table = pd.DataFrame(numbers)
    kinds = {
        "numbers": lambda: numbers,
        "more numbers": lambda: np.round(numbers),
        "float32": lambda: numbers.astype(np.float32),
        "integers": lambda: np.round(3 * numbers).astype(np.int8),
        "booleans": lambda: numbers > 0,
        "lists": lambda: numbers.tolist(),
        "fortran": lambda: np.asfortranarray(numbers),
        "read-only": lambda: _frozen(numbers),
        "some missing": lambda: np.where(numbers > 1, np.nan, numbers),
        "all missing": lambda: np.full_like(numbers, np.nan),
        "infinite": lambda: np.where(numbers > 1, np.inf, numbers),
        "constant": lambda: np.ones_like(numbers),
        "huge": lambda: numbers * 1e300,
        "tiny": lambda: numbers * 1e-300,
        "one row again and again": lambda: np.repeat(numbers[:1], n, axis=0),
        "text": lambda: np.array([["a", "b"], ["c", "d"]] * n, dtype=object)[:n],
        "numbers as text": lambda: numbers.astype(str),
        "objects": lambda: np.array([[object()]] * n, dtype=object),
        "no columns": lambda: np.empty((n, 0)),
        "no rows": lambda: np.empty((0, 2)),
        "one axis": lambda: numbers[:, 0],
        "three axes": lambda: numbers[:, :, None],
        "a number": lambda: 3.0,
        "nothing": lambda: None,
        "a word": lambda: "table",
        "a dict": lambda: {"a": [1.0] * n},
        "a set": lambda: {1.0, 2.0},
        "dates": lambda: np.array([["2020-01-01"]] * n, dtype="M8[D]"),
        "complex": lambda: numbers + 1j,
        "ragged": lambda: [[1.0], [1.0, 2.0]] * (n // 2),
        "sparse": lambda: sparse.csr_matrix(np.round(numbers)),
        "sparse columns": lambda: sparse.csc_matrix(np.round(numbers)),
        "frame": lambda: table,
        "frame of all kinds": lambda: table.assign(job="cook", day=pd.Timestamp("2020-01-01")),
        "frame of text": lambda: table.assign(job=[f"job {i % 7}" for i in range(n)]),
        "frame of categories": lambda: table.assign(c=pd.Categorical(["u", "v"] * n)[:n]),
        "frame of gaps": lambda: table.assign(g=None),
        "frame with one name twice": lambda: pd.concat([table, table], axis=1),
        "frame of nullable numbers": lambda: table.round().astype("Int64"),
        "frame with words for names": lambda: table.rename(columns=str),
        "a column": lambda: table[0],
        "fewer rows": lambda: numbers[: n - 1],
    }  # fmt: skip
    name = "numbers" if rng.random() < 0.4 else rng.choice(list(kinds))
    return name, kinds[name]()


def _frozen(array):
    array.flags.writeable = False
    return array


def odd_y(rng, n):
    n_classes = rng.choice([2, 2, 3, 5])
    y = np.arange(n) % n_classes
    kinds = {
        "classes": lambda: y,
        "words": lambda: np.array(["a", "b", "c", "d", "e"])[y],
        "objects": lambda: np.array(["a", "b", "c", "d", "e"], dtype=object)[y],
        "booleans": lambda: y > 0,
        "far apart": lambda: y * 10**12 - 5,
        "floats": lambda: y.astype(float),
        "fractions": lambda: y + 0.5,
        "one class": lambda: np.zeros(n, dtype=int),
        "a class of one": lambda: np.r_[1, np.zeros(n - 1, dtype=int)],
        "each its own": lambda: np.arange(n),
        "missing": lambda: np.where(y == 0, np.nan, y),
        "mixed": lambda: np.array([1, "a"] * n, dtype=object)[:n],
        "gaps": lambda: np.array([None, "a"] * n, dtype=object)[:n],
        "column": lambda: y[:, None],
        "two columns": lambda: np.column_stack([y, y]),
        "series": lambda: pd.Series(y, index=np.arange(n)[::-1]),
        "categories": lambda: pd.Categorical(y),
        "fewer": lambda: y[: n - 1],
        "nothing": lambda: None,
        "numbers": lambda: np.random.default_rng(0).normal(size=n),
        "a list": lambda: y.tolist(),
        "dates": lambda: np.array(["2020-01-01", "2021-01-01"] * n, dtype="M8[D]")[:n],
    }  # fmt: skip
    name = "classes" if rng.random() < 0.5 else rng.choice(list(kinds))
    return name, kinds[name](), n_classes


def odd_costs(rng, n, n_classes):
    """Return the cost_matrix (or nothing) and arguments of `fit`."""
    prices = np.random.default_rng(rng.randrange(100)).integers(1, 9, (n_classes, n_classes))
    C = np.where(np.eye(n_classes), 0.0, prices)
    rows = C[np.arange(n) % n_classes]
    kinds = {
        "none": lambda: (None, {}),
        "matrix": lambda: (C, {}),
        "list": lambda: (C.tolist(), {}),
        "labelled": lambda: (CostMatrix(C, labels=list(range(n_classes))), {}),
        "strange labels": lambda: (CostMatrix(C, labels=list("vwxyz"[:n_classes])), {}),
        "frame": lambda: (pd.DataFrame(C), {}),
        "benefits": lambda: (-C, {}),
        "huge": lambda: (C * 1e50, {}),
        "too huge": lambda: (C * 1e300, {}),
        "tiny": lambda: (C * 1e-50, {}),
        "far apart": lambda: (np.where(C.max() == C, 1e30, C), {}),
        "one price": lambda: (np.where(C.max() == C, C, 0.0), {}),
        "zero": lambda: (np.zeros_like(C), {}),
        "nan": lambda: (np.full_like(C, np.nan), {}),
        "other size": lambda: (np.ones((n_classes + 1, n_classes)), {}),
        "word": lambda: (rng.choice(["rarity", "imbalance", "zero_one", "other", ""]), {}),
        "number": lambda: (3.0, {}),
        "costs": lambda: (None, {"costs": rows}),
        "uneven costs": lambda: (None, {"costs": rows * np.arange(n)[:, None]}),
        "tensor": lambda: (None, {"cost_tensor": np.tile(C, (n, 1, 1))}),
        "both": lambda: (C, {"costs": rows}),
        "costs of fewer": lambda: (None, {"costs": rows[:-1]}),
        "costs in words": lambda: (None, {"costs": "dear"}),
        "costs with gaps": lambda: (None, {"costs": np.full_like(rows, np.nan)}),
        "flat tensor": lambda: (None, {"cost_tensor": rows}),
    }  # fmt: skip
    name = "matrix" if rng.random() < 0.4 else rng.choice(list(kinds))
    return name, *kinds[name]()


def odd_weight(rng, n):
    kinds = {
        "none": None,
        "ones": np.ones(n),
        "uneven": np.arange(n) / n,
        "few": (np.arange(n) < 3).astype(float),
        "zero": np.zeros(n),
        "negative": -np.ones(n),
        "nan": np.full(n, np.nan),
        "infinite": np.full(n, np.inf),
        "huge": np.full(n, 1e200),
        "fewer": np.ones(n - 1),
        "a number": 2.0,
        "words": ["a"] * n,
    }
    name = "none" if rng.random() < 0.6 else rng.choice(list(kinds))
    return name, kinds[name]


# -- one call after the other ----------------------------------------------------------------------


def play(number):
    """Fit and ask one estimator; return what was wrong, or nothing."""
    rng = random.Random(number)
    cls = rng.choice(CLASSES)
    n = rng.choice([2, 5, 12, 30, 30])
    X_name, X = odd_X(rng, n)
    y_name, y, n_classes = odd_y(rng, n)
    costs_name, matrix, given = odd_costs(rng, n, n_classes)
    weight_name, weight = odd_weight(rng, n)
    said = f"{cls.__name__}, {n} rows, X {X_name}, y {y_name}, costs {costs_name}, weight {weight_name}"
    model = make_instance(cls, QUICK)
    names = inspect.signature(cls).parameters
    changed = {"cost_matrix": matrix} if "cost_matrix" in names and matrix is not None else {}
    if rng.random() < 0.25:
        changed[rng.choice(list(names))] = rng.choice(ODD_PARAMETERS)
    if "random_state" in names:
        changed.setdefault("random_state", 0)
    said += f", {changed}" if set(changed) - {"cost_matrix", "random_state"} else ""
    wrong = attempt(lambda: fit_and_ask(model.set_params(**changed), X, y, weight, given, rng, n))
    return f"{said}: {wrong}" if wrong else ""


def fit_and_ask(model, X, y, weight, given, rng, n):
    if rng.random() < 0.1:
        model = clone(model)
    arguments = {} if weight is None else {"sample_weight": weight}
    model.fit(X, y, **arguments, **given)
    if rng.random() < 0.3:
        model = pickle.loads(pickle.dumps(model))
    asked = X if rng.random() < 0.7 else odd_X(rng, n)[1]
    decided = model.predict(asked)
    n_asked = asked.shape[0] if hasattr(asked, "shape") else len(asked)
    if decided.shape != (n_asked,):
        return f"predict returned the shape {decided.shape}"
    known = [*model.classes_.tolist(), getattr(model, "abstain_label_", None)]
    if not set(decided.tolist()) <= set(known):
        return "predict returned no class"
    n_classes = len(model.classes_)
    for name, widths in (
        ("predict_proba", [n_classes]),
        ("expected_costs", [n_classes, n_classes + 1]),  # one more where it may abstain
    ):
        found = (
            getattr(model, name)(asked) if hasattr(model, name) else np.zeros((n_asked, n_classes))
        )
        if len(found) != n_asked or found.shape[1] not in widths or np.isnan(found).any():
            return f"{name} returned the shape {found.shape} or NaN"
    if asked is X:
        score = model.score(X, y, **arguments, **given)
        return "" if np.isfinite(score) else f"score returned {score}"
    return ""


def play_rule(number):
    """Fit and ask one rule or calibrator on odd probabilities."""
    rng = random.Random(number)
    cls, n = rng.choice(RULES), rng.choice([2, 6, 30])
    y_name, y, n_classes = odd_y(rng, n)
    costs_name, matrix, given = odd_costs(rng, n, n_classes)
    weight_name, weight = odd_weight(rng, n)
    proba = np.random.default_rng(number).dirichlet(np.ones(n_classes), n)
    kinds = {
        "fine": proba,
        "certain": np.eye(n_classes)[np.arange(n) % n_classes],
        "even": np.full_like(proba, 1 / n_classes),
        "nan": np.where(proba > 0.7, np.nan, proba),
        "scores": proba * 3 - 1,
        "a column": proba[:, 0],
        "frame": pd.DataFrame(proba),
        "fewer": proba[:-1],
        "words": proba.astype(str),
        "nothing": None,
    }
    name = "fine" if rng.random() < 0.5 else rng.choice(list(kinds))
    said = f"{cls.__name__}, proba {name}, y {y_name}, costs {costs_name}, weight {weight_name}"

    def fit_and_decide():
        rule = cls() if cls is ProbabilityCalibrator else cls(cost_matrix=matrix)
        if cls is ProbabilityCalibrator:
            rule.fit(kinds[name], y, weight)
            found = rule.transform(proba)
            fine = found.shape == proba.shape and np.isfinite(found).all()
            return "" if fine else "transform returned no probabilities"
        rule.fit(kinds[name], y, weight, **given)
        fine = np.isin(rule.predict(proba), rule.classes_).all()
        return "" if fine else "predict returned no class"

    wrong = attempt(fit_and_decide)
    return f"{said}: {wrong}" if wrong else ""


def attempt(call):
    """Return what is wrong with how a call ends; to be refused in words is fine."""
    try:
        return call()
    except (ValueError, TypeError, ImportError) as error:
        return "" if str(error).strip() else f"{type(error).__name__} without a word"


def run(case):
    kind, number = case
    return kind(number)


def check(numbers):
    cases = [(play_rule if number % 5 == 0 else play, number) for number in numbers]
    with threadpool_limits(1):  # a child cannot use the threads of its parent
        wrong, most = run_in_children(cases, run)
    listed = "\n".join(f"{cases[at][1]}: {how}" for at, how in wrong.items())
    assert not wrong, f"{len(wrong)} of {len(cases)} calls:\n{listed}"
    return most


def test_three_hundred_odd_calls_are_answered_or_refused():
    check(range(300))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_twenty_thousand_odd_calls_are_answered_or_refused(part):
    most = check(range(5_000 * part, 5_000 * (part + 1)))
    record(f"fuzz-{part}", calls=5_000, most=most)

"""The members of the blend: what they are, how big they get, how they are fitted and asked."""

import time
import warnings
from typing import Any, NamedTuple

import numpy as np

from stakes.auto._table import TableEncoder

# Above these numbers of rows a member learns from a sample of that many (see `take_sample`).
NETWORK_ROWS = 100_000
FOREST_ROWS = 50_000  # of each tree
NEIGHBOUR_ROWS = 20_000
THOROUGH_FOREST_ROWS = 5_000
THREE_NETWORKS_ROWS = 20_000
SMOOTH_ROWS = 200_000
# Covariance matrices of wider tables say little.
GAUSSIAN_COLUMNS = 300


class Size(NamedTuple):
    """How much there is to learn from: rows, columns (after encoding) and classes.

    `final` says that the fit is on all rows, to stay: forests of many rows have twice the
    trees then.
    """

    rows: int
    columns: int
    classes: int
    final: bool = True


class Member(NamedTuple):
    """One entry of the recipe.

    Parameters
    ----------
    name, title : str
        For code and for people.
    table : {"trees", "distances"}
        Which form of the table it learns from.
    max_rows : int or None
        It learns from a sample of that many rows where there are more.
    takes_weights : bool
        Whether `sample_weight` reaches it; without, it sits out a weighted fit.
    """

    name: str
    title: str
    table: str
    max_rows: int | None = None
    takes_weights: bool = True


# In the order in which they are fitted, which matters only under a time limit.
RECIPE = (
    Member("linear", "logistic regression", "distances", SMOOTH_ROWS),
    Member("boosting", "gradient boosting", "trees"),
    Member("extra_trees", "extremely randomised trees", "trees"),
    Member("network", "neural network", "distances", NETWORK_ROWS),
    Member("gaussian", "quadratic discriminant analysis", "distances", SMOOTH_ROWS, False),
    Member("wide_network", "wide neural network", "distances", NETWORK_ROWS),
    Member("forest", "random forest", "trees"),
    Member("slow_boosting", "slow gradient boosting", "trees"),
    Member("kernel", "kernel logistic regression", "distances", SMOOTH_ROWS),
    Member("neighbours", "nearest neighbours", "distances", NEIGHBOUR_ROWS, False),
    Member("small_boosting", "gradient boosting of small trees", "trees"),
)
NAMES = tuple(member.name for member in RECIPE)
FORMS = ("trees", "distances")


def build(name: str, size: Size, seed: int) -> Any:
    """Return the unfitted estimator of a member; one thread each, members run side by side."""
    return _BUILDERS[name](size, seed)


def _linear(size, seed):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=300)


def _boosting(size, seed):
    rounds = _rounds(100, size)
    return _gradient_boosting(
        seed, rounds, learning_rate=0.1 * 100 / rounds, num_leaves=31, min_child_samples=20
    )


def _slow_boosting(size, seed):
    rounds = _rounds(200, size)
    return _gradient_boosting(
        seed,
        rounds,
        learning_rate=0.05 * 200 / rounds,
        num_leaves=15,
        min_child_samples=5,
        colsample_bytree=0.6,
        subsample=0.8,
        subsample_freq=1,
        reg_lambda=1.0,
    )


def _small_boosting(size, seed):
    rounds = _rounds(100, size)
    return _gradient_boosting(
        seed,
        rounds,
        learning_rate=0.05 * 100 / rounds,
        num_leaves=4,
        min_child_samples=10,
        colsample_bytree=0.6,
        subsample=0.8,
        subsample_freq=1,
        reg_lambda=1.0,
    )


def _rounds(most: int, size: Size) -> int:
    """Return fewer, larger steps where each round grows a tree for each of many classes."""
    return int(np.clip(30 * most // size.classes, 0.3 * most, most))


def _gradient_boosting(seed, rounds, *, learning_rate, num_leaves, min_child_samples, **more):
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(
            max_iter=rounds,
            learning_rate=learning_rate,
            max_leaf_nodes=num_leaves,
            min_samples_leaf=min_child_samples,
            max_features=more.get("colsample_bytree", 1.0),
            l2_regularization=more.get("reg_lambda", 0.0),
            early_stopping=False,
            random_state=seed,
        )
    return LGBMClassifier(
        n_estimators=rounds,
        learning_rate=learning_rate,
        num_leaves=num_leaves,
        min_child_samples=min_child_samples,
        n_jobs=1,
        random_state=seed,
        verbose=-1,
        **more,
    )


def _trees(size: Size) -> int:
    """Return how many: 100 votes say little about a class of one row in a hundred."""
    return 200 if size.rows <= (20_000 if size.final else 2_000) else 100


def _forest(size, seed):
    """Return a forest: up to some size, one that looks at more columns and splits for purity."""
    from sklearn.ensemble import RandomForestClassifier

    thorough = {"criterion": "entropy", "max_features": 0.5}
    return RandomForestClassifier(
        n_estimators=_trees(size),
        min_samples_leaf=2,
        max_samples=FOREST_ROWS if size.rows > FOREST_ROWS else None,
        n_jobs=1,
        random_state=seed,
        **(thorough if size.rows <= THOROUGH_FOREST_ROWS else {}),
    )


def _extra_trees(size, seed):
    from sklearn.ensemble import ExtraTreesClassifier

    few = size.rows > FOREST_ROWS
    return ExtraTreesClassifier(
        n_estimators=_trees(size),
        bootstrap=few,
        max_samples=FOREST_ROWS if few else None,
        n_jobs=1,
        random_state=seed,
    )


def _network(size, seed):
    return _multilayer(size, seed, width=32, alpha=1.0)


def _wide_network(size, seed):
    """Three wide networks where there are few rows, which makes up for what chance does to one."""
    if size.rows > THREE_NETWORKS_ROWS:
        return _multilayer(size, seed, width=64, alpha=0.1)
    from sklearn.ensemble import VotingClassifier

    networks = [
        (f"network_{i}", _multilayer(size, (seed + i) % 2**31, width=64, alpha=0.1))
        for i in range(3)
    ]
    return VotingClassifier(networks, voting="soft")


def _multilayer(size, seed, *, width, alpha):
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        (width if size.classes <= 10 else 2 * width,),
        solver="lbfgs",
        alpha=alpha,
        max_iter=200,
        random_state=seed,
    )


def _gaussian(size, seed):
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)


def _kernel(size, seed):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    return Pipeline(
        [
            (
                "kernel",
                Nystroem(
                    gamma=1.0 / max(size.columns, 1),  # columns have variance 1
                    n_components=min(300, size.rows),
                    random_state=seed,
                ),
            ),
            ("linear", LogisticRegression(C=10.0, max_iter=300)),
        ]
    )


def _neighbours(size, seed):
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(min(10, size.rows), weights="distance")


_BUILDERS = {
    "linear": _linear,
    "boosting": _boosting,
    "extra_trees": _extra_trees,
    "network": _network,
    "gaussian": _gaussian,
    "wide_network": _wide_network,
    "forest": _forest,
    "slow_boosting": _slow_boosting,
    "kernel": _kernel,
    "neighbours": _neighbours,
    "small_boosting": _small_boosting,
}


class FittedMember:
    """A fitted member: it answers with a column for every class of the problem.

    Parameters
    ----------
    name, table : str
        As in `Member`.
    estimator : estimator
        Fitted on the positions of the classes that its rows held.
    codes : ndarray
        The position in `classes_` of each of its own classes.
    n_classes : int
        Of the problem.
    """

    def __init__(self, name, table, estimator, codes, n_classes):
        self.name = name
        self.table = table
        self.estimator = estimator
        self.codes = codes
        self.n_classes = n_classes

    def predict_proba(self, tables: dict) -> np.ndarray:
        """Return the probabilities, (n, n_classes); a class it never saw has 0."""
        X = tables[self.table]
        proba = np.zeros((len(X), self.n_classes))
        if self.estimator is None:
            proba[:, self.codes[0]] = 1.0
            return proba
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what members say of columns without names
            found = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        if not np.isfinite(found).all():
            raise ValueError("the probabilities are not all finite")
        proba[:, self.codes] = found
        return proba

    def __repr__(self) -> str:
        return f"FittedMember({self.name!r})"


def make_tables(encoder: TableEncoder, X: Any, kinds=FORMS) -> dict:
    """Return the forms of the table that the members need, by name."""
    trees = encoder.for_trees(X)
    tables = {"trees": trees}
    if "distances" in kinds:
        tables["distances"] = encoder.for_distances(trees)
    return tables


def fit_member(member: Member, tables: dict, y, rows, sample_weight, n_classes, seed, final=True):
    """Fit a member on some rows; y holds positions in `classes_`.

    Classes that the rows lack are left out, and given back as 0 by `predict_proba`.
    """
    if member.max_rows is not None and len(rows) > member.max_rows:
        rows = take_sample(rows, y, member.max_rows, seed)
    X, y = tables[member.table][rows], y[rows]
    weight = None if sample_weight is None else sample_weight[rows]
    if member.name == "gaussian":  # a covariance needs two examples
        enough = np.bincount(y, minlength=n_classes)[y] >= 2
        X, y = X[enough], y[enough]
    if len(y) == 0:
        raise ValueError("no class has two examples")
    codes, own = np.unique(y, return_inverse=True)
    if len(codes) == 1:
        return FittedMember(member.name, member.table, None, codes, n_classes)
    size = Size(len(own), X.shape[1], len(codes), final)
    if member.name == "gaussian" and size.columns > GAUSSIAN_COLUMNS:
        raise ValueError(f"the table has more than {GAUSSIAN_COLUMNS} columns")
    estimator = build(member.name, size, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unconverged network may still be a good member
        if weight is None:
            estimator.fit(X, own)
        elif member.name == "kernel":
            estimator.fit(X, own, linear__sample_weight=weight)
        else:
            estimator.fit(X, own, sample_weight=weight)
    return FittedMember(member.name, member.table, estimator, codes, n_classes)


def fit_and_ask(member, tables, y, inside, outside, sample_weight, n_classes, seed) -> tuple:
    """Fit on `inside`; return the probabilities of `outside`, the model and the seconds."""
    start = time.perf_counter()
    try:
        final = len(outside) == 0
        fitted = fit_member(member, tables, y, inside, sample_weight, n_classes, seed, final)
        proba = None
        if len(outside):
            part = {member.table: tables[member.table][outside]}
            proba = fitted.predict_proba(part)
    except Exception as error:  # whatever a member dies of, the others go on
        return None, None, f"{type(error).__name__}: {error}", time.perf_counter() - start
    return proba, fitted, "", time.perf_counter() - start


def take_sample(rows: np.ndarray, y: np.ndarray, size: int, seed: int) -> np.ndarray:
    """Return `size` of the rows, classes in proportion but at least 50 of each where they exist.

    Examples
    --------
    >>> from stakes.auto._members import take_sample
    >>> y = np.repeat([0, 1], [900, 100])
    >>> np.bincount(y[take_sample(np.arange(1000), y, 100, seed=0)])
    array([90, 50])
    """
    rng = np.random.RandomState(seed)
    labels = y[rows]
    counts = np.bincount(labels)
    wanted = np.maximum(np.round(size * counts / len(rows)), 50).astype(int)
    kept = [
        rng.permutation(rows[labels == label])[: wanted[label]] for label in np.flatnonzero(counts)
    ]
    return np.sort(np.concatenate(kept))

"""The members of the blend: what they are, how big they get, how they are fitted and asked."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from stakes._learning.draws import MAX_SEED, draw_seeds, seeded_clone
from stakes.utils._arrays import quoted
from stakes.utils._blas import one_blas_thread
from stakes.utils._notices import quiet

# Above these numbers of rows a member learns from a sample of that many (see `take_sample`).
NETWORK_ROWS = 100_000
FOREST_ROWS = 50_000  # of each tree
NEIGHBOUR_ROWS = 20_000
THOROUGH_FOREST_ROWS = 5_000
FOREST_COLUMNS = 12  # that a thorough forest looks at in a split, of more than twice as many
FEW_STEPS_ROWS = 5_000  # of a deep network
FEW_TREES_ROWS = 2_000  # of extremely randomised trees
SMOOTH_ROWS = 200_000
PRODUCTS_ROWS = 20_000
# Covariance matrices of wider tables say little, and their products are too many.
WIDEST = {"gaussian": 300, "products": 40}
BOOSTING_BINS = 63


class Size(NamedTuple):
    """How much there is to learn from: rows, columns (after encoding) and classes."""

    rows: int
    columns: int
    classes: int


class Member(NamedTuple):
    """One entry of the recipe.

    Parameters
    ----------
    name, title : str
        For code and for people.
    table : {"trees", "distances", "words"}
        Which form of the table it learns from.
    max_rows : int or None
        It learns from a sample of that many rows where there are more.
    takes_weights : bool
        Whether `sample_weight` reaches it; without, it sits out a weighted fit.
    out_of_bag : bool
        Whether one fit on all rows tells of each row what it thinks without having seen it.
    estimator : estimator or None
        The user's own classifier; None for those of the recipe.
    price : float
        What it takes to fit and to ask beside the others: the dearest is the first to be done
        without. What costs nothing is not done without.
    by_default : bool
        Whether it is asked where no members are named.
    """

    name: str
    title: str
    table: str
    max_rows: int | None = None
    takes_weights: bool = True
    out_of_bag: bool = False
    estimator: Any = None
    price: float = 0.0
    by_default: bool = True


# In the order in which they are fitted, which matters only under a time limit.
RECIPE = (
    Member("linear", "logistic regression", "distances", SMOOTH_ROWS),
    Member("boosting", "gradient boosting", "trees", price=1.0),
    Member("extra_trees", "extremely randomised trees", "trees", price=1.2),
    Member("network", "neural network", "distances", NETWORK_ROWS, price=0.4),
    Member("gaussian", "quadratic discriminant analysis", "distances", SMOOTH_ROWS, False),
    Member("deep_network", "neural network of two layers", "distances", NETWORK_ROWS, price=0.5),
    Member("forest", "random forest", "trees", out_of_bag=True, price=1.1),
    Member("slow_boosting", "slow gradient boosting", "trees", price=2.1, by_default=False),
    Member(
        "kernel",
        "kernel logistic regression",
        "distances",
        SMOOTH_ROWS,
        price=0.6,
        by_default=False,
    ),
    Member(
        "neighbours", "nearest neighbours", "distances", NEIGHBOUR_ROWS, False, by_default=False
    ),
    Member("small_boosting", "gradient boosting of small trees", "trees"),
    Member("products", "logistic regression on products", "distances", PRODUCTS_ROWS, price=0.4),
)
NAMES = tuple(member.name for member in RECIPE)
# Where the table has text.
OF_TEXT = (
    Member("words", "logistic regression on words", "words", SMOOTH_ROWS, False),
    Member("word_counts", "naive Bayes on words", "words", SMOOTH_ROWS),
)
ALL_NAMES = (*NAMES, *(member.name for member in OF_TEXT))
# Of Dask collections: one member from all rows, the others from a sample.
ALL_ROWS = Member("all_rows", "gradient boosting on all rows", "trees")
FORMS = ("trees", "distances", "words")


# Each round of boosting sees a part of the rows and columns, and its leaves are shrunk.
SAMPLED: dict[str, Any] = {"colsample_bytree": 0.6, "subsample": 0.8, "subsample_freq": 1}
SHRUNK = SAMPLED | {"reg_lambda": 1.0}


class Sample(NamedTuple):
    """What members learn from.

    Parameters
    ----------
    tables : dict of ndarray
        The forms of the table, see `TableEncoder`.
    y : ndarray of shape (n_samples,)
        Classes as positions.
    weight : ndarray of shape (n_samples,) or None
        How often each example counts.
    n_classes, seed : int
        Of the problem; what every member's own seed is drawn from.
    """

    tables: dict
    y: np.ndarray
    weight: np.ndarray | None
    n_classes: int
    seed: int

    def seed_of(self, name: str) -> int:
        """Return the seed of a member, whichever others there are."""
        if name not in NAMES:
            return (self.seed + crc32(name.encode())) % MAX_SEED
        return int(draw_seeds(self.seed, len(NAMES))[NAMES.index(name)])

    def take_tables(self, rows: np.ndarray) -> dict:
        """Return some rows of the tables."""
        return {form: table[rows] for form, table in self.tables.items()}

    def take_weight(self, rows: np.ndarray) -> np.ndarray | None:
        """Return the weights of some rows."""
        return None if self.weight is None else self.weight[rows]


def choose_members(given: Any) -> list[Member]:
    """Return the members that were asked for: the recipe's in its order, then the user's own.

    Parameters
    ----------
    given : None or list of str or tuple
        Names, and (name, classifier) pairs; "all", and None, are those of the recipe that are
        asked by default.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from stakes.auto._members import choose_members
    >>> [m.name for m in choose_members([("bayes", GaussianNB()), "forest", "linear"])]
    ['linear', 'forest', 'bayes']
    """
    entries = ["all"] if given is None else list(given)
    named = [entry for entry in entries if isinstance(entry, str)]
    known = quoted(ALL_NAMES, len(ALL_NAMES))
    if not entries or not all(name in (*ALL_NAMES, "all") for name in named):
        raise ValueError(
            f"members={named!r} should name some of {known}, be 'all', or hold "
            "(name, classifier) pairs."
        )
    own = [_own_member(entry) for entry in entries if not isinstance(entry, str)]
    names = [member.name for member in own]
    if len(set(names)) < len(names):
        raise ValueError(
            f"members holds two classifiers of one name: {quoted(names, len(names))}."
        )
    asked = [
        member
        for member in (*RECIPE, *OF_TEXT)
        if member.name in named or ("all" in named and member.by_default)
    ]
    return asked + own


def _own_member(entry: Any) -> Member:
    """Return the member that a (name, classifier) pair stands for."""
    if not isinstance(entry, tuple) or len(entry) != 2 or not isinstance(entry[0], str):
        raise ValueError(
            f"{entry!r} in members should be a name or a pair, like ('bayes', GaussianNB())."
        )
    name, estimator = entry
    if not name or name in (*ALL_NAMES, "all"):
        raise ValueError(f"The name {name!r} in members is taken: give your classifier another.")
    missing = [what for what in ("fit", "predict_proba") if not hasattr(estimator, what)]
    if missing or isinstance(estimator, type):
        what = f"has no {missing[0]}" if missing else "is a class: give an instance of it"
        raise ValueError(
            f"The member {name!r} should be a classifier with probabilities, but {estimator!r} {what}."
        )
    weighs = has_fit_parameter(estimator, "sample_weight")
    return Member(name, name, "distances", takes_weights=weighs, estimator=estimator)


# -- what they are: builders of unfitted estimators, one thread each ------------------------------


def _linear(size: Size, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=300)


def _boosting(size: Size, seed: int, *, rounds: int, rate: float, **more: Any) -> Any:
    """Return gradient boosting: fewer, larger steps where a round grows a tree for many classes."""
    fewer = int(np.clip(30 * rounds // size.classes, 0.3 * rounds, rounds))
    return gradient_boosting("Classifier", seed, rounds=fewer, rate=rate * rounds / fewer, **more)


def gradient_boosting(
    kind: str, seed: int, *, rounds: int, rate: float, leaves: int, least: int, **more: Any
) -> Any:
    """Return LightGBM's "Classifier" or "Regressor", or scikit-learn's where it is not installed.

    Trees have at most `leaves` leaves of at least `least` examples; `more` is in LightGBM's words.
    63 bins of a column take less than half of the time of 255, with no greater loss.
    """
    try:
        import lightgbm
    except ImportError:
        import sklearn.ensemble

        return getattr(sklearn.ensemble, f"HistGradientBoosting{kind}")(
            max_iter=rounds,
            learning_rate=rate,
            max_leaf_nodes=leaves,
            min_samples_leaf=least,
            max_bins=BOOSTING_BINS,
            max_features=more.get("colsample_bytree", 1.0),
            l2_regularization=more.get("reg_lambda", 0.0),
            early_stopping=False,
            random_state=seed,
        )
    more |= {"n_estimators": rounds, "num_leaves": leaves, "min_child_samples": least}
    more |= {"max_bin": BOOSTING_BINS}
    boosting = getattr(lightgbm, f"LGBM{kind}")
    return boosting(learning_rate=rate, n_jobs=1, random_state=seed, verbose=-1, **more)


def forest_options(n_rows: int, seed: int) -> dict[str, Any]:
    """Return what forests have in common: each tree of a large one sees a part of the rows."""
    few = FOREST_ROWS if n_rows > FOREST_ROWS else None
    return {"bootstrap": few is not None, "max_samples": few, "n_jobs": 1, "random_state": seed}


def _forest(size: Size, seed: int) -> Any:
    """Return a forest: up to some size, one that looks at more columns and splits for purity."""
    from sklearn.ensemble import RandomForestClassifier

    options = forest_options(size.rows, seed) | {"n_estimators": 100}
    options |= {"bootstrap": True, "min_samples_leaf": 2}
    if size.rows <= THOROUGH_FOREST_ROWS:
        columns = max(1, min(size.columns // 2, FOREST_COLUMNS))
        options |= {"criterion": "entropy", "max_features": max(columns, int(size.columns**0.5))}
    return RandomForestClassifier(**options)


def _extra_trees(size: Size, seed: int) -> Any:
    """Return extremely randomised trees: of few rows, which they are fitted on ten times, fewer."""
    from sklearn.ensemble import ExtraTreesClassifier

    n_trees = 50 if size.rows <= FEW_TREES_ROWS else 100
    return ExtraTreesClassifier(n_trees, **forest_options(size.rows, seed))


def _deep_network(size: Size, seed: int) -> Any:
    """Return a network of two layers, which finds products of columns with few rows.

    Few rows are soon learned by heart; many bear more steps.
    """
    steps = 100 if size.rows <= FEW_STEPS_ROWS else 200
    how: dict[str, Any] = {"layers": (32, 32), "alpha": 1.0, "activation": "tanh"}
    return _multilayer(size, seed, max_iter=steps, **how)


def _multilayer(
    size: Size, seed: int, *, layers: tuple, alpha: float, max_iter: int, **more: Any
) -> Any:
    """Return a network; one that is stopped early is as good in the blend, in half of the time."""
    from sklearn.neural_network import MLPClassifier

    widths = tuple(width if size.classes <= 10 else 2 * width for width in layers)
    return MLPClassifier(
        widths, solver="lbfgs", alpha=alpha, max_iter=max_iter, random_state=seed, **more
    )


def _gaussian(size: Size, seed: int) -> Any:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    return QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)


def _kernel(size: Size, seed: int) -> Any:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline

    gamma = 1.0 / max(size.columns, 1)  # columns have variance 1
    kernel = Nystroem(gamma=gamma, n_components=min(300, size.rows), random_state=seed)
    return Pipeline([("kernel", kernel), ("linear", LogisticRegression(C=10.0, max_iter=300))])


def _products(size: Size, seed: int) -> Any:
    """Return logistic regression on the columns and the products of two.

    It is hardly penalised: where what counts are products, as of a weight and its distance, they
    part classes as sharply as can be; elsewhere the blend does without it.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    products = PolynomialFeatures(2, include_bias=False, interaction_only=True)
    linear = LogisticRegression(C=1000.0, max_iter=100)
    return Pipeline([("products", products), ("scale", StandardScaler()), ("linear", linear)])


def _neighbours(size: Size, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(min(10, size.rows), weights="distance")


def _words(size: Size, seed: int) -> Any:
    """Return logistic regression on TF-IDF, one class against the others: of many columns, fast."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import Pipeline

    linear = LogisticRegression(C=100.0, solver="liblinear", random_state=seed)
    weighed = TfidfTransformer(sublinear_tf=True)
    return Pipeline([("weigh", weighed), ("linear", OneVsRestClassifier(linear))])


def _word_counts(size: Size, seed: int) -> Any:
    from sklearn.naive_bayes import MultinomialNB

    return MultinomialNB()


_BUILDERS: dict[str, Callable[[Size, int], Any]] = {
    "linear": _linear,
    "boosting": partial(_boosting, rounds=100, rate=0.08, leaves=15, least=5, **SHRUNK),
    "extra_trees": _extra_trees,
    "network": partial(_multilayer, layers=(32,), alpha=1.0, max_iter=100),
    "gaussian": _gaussian,
    "deep_network": _deep_network,
    "forest": _forest,
    "slow_boosting": partial(_boosting, rounds=200, rate=0.05, leaves=15, least=5, **SHRUNK),
    "kernel": _kernel,
    "neighbours": _neighbours,
    "small_boosting": partial(_boosting, rounds=100, rate=0.05, leaves=4, least=10, **SHRUNK),
    "products": _products,
    "words": _words,
    "word_counts": _word_counts,
}


# -- how they are fitted and asked -----------------------------------------------------------------


@dataclass(repr=False)
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

    name: str
    table: str
    estimator: Any
    codes: np.ndarray
    n_classes: int

    def predict_proba(self, tables: dict) -> np.ndarray:
        """Return the probabilities, (n, n_classes); a class it never saw has 0."""
        X = tables[self.table]
        proba = np.zeros((X.shape[0], self.n_classes))
        if self.estimator is None:
            proba[:, self.codes[0]] = 1.0
            return proba
        with quiet():  # what members warn of columns without names
            found = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        if found.shape != (X.shape[0], len(self.codes)):
            expected = f"{(X.shape[0], len(self.codes))} was expected"
            raise ValueError(f"the probabilities have shape {found.shape}, {expected}")
        if not np.isfinite(found).all() or found.min(initial=0.0) < 0:
            raise ValueError("the probabilities are not all finite and at least 0")
        proba[:, self.codes] = found
        return proba

    def __repr__(self) -> str:
        return f"FittedMember({self.name!r})"


def fit_member(
    member: Member,
    sample: Sample,
    rows: np.ndarray,
    **options: Any,
) -> FittedMember:
    """Fit a member on some rows; `options` are set on its estimator.

    Classes that the rows lack are left out, and given back as 0 by `predict_proba`.
    """
    seed, is_gaussian = sample.seed_of(member.name), member.name == "gaussian"
    rows = take_sample(rows, sample.y, member.max_rows, seed)
    if is_gaussian:  # a covariance needs two examples
        rows = rows[np.bincount(sample.y[rows])[sample.y[rows]] >= 2]
    if len(rows) == 0:
        raise ValueError("no class has two examples")
    X = sample.tables[member.table][rows]
    codes, own = np.unique(sample.y[rows], return_inverse=True)
    estimator = None
    if len(codes) > 1:
        size = Size(len(own), X.shape[1], len(codes))
        if size.columns > (widest := WIDEST.get(member.name, np.inf)):
            raise ValueError(f"the table has more than {widest} columns")
        if member.estimator is None:
            estimator = _BUILDERS[member.name](size, seed).set_params(**options)
        else:
            estimator = seeded_clone(member.estimator, seed)
        to = "linear__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
        given = {} if sample.weight is None else {to: sample.weight[rows]}
        with quiet():  # an unconverged network may still be a good member
            estimator.fit(X, own, **given)
    return FittedMember(member.name, member.table, estimator, codes, sample.n_classes)


def fit_and_ask(
    member: Member,
    sample: Sample,
    inside: np.ndarray,
    outside: np.ndarray | None,
    options: dict[str, Any] | None = None,
) -> tuple:
    """Fit on `inside`; return the probabilities of `outside`, the model, a reason and the seconds.

    `options` are given to `fit_member`. Where `outside` is None the probabilities are those of
    `inside`, out of bag. The reason says why there is no model; it is empty where there is one.
    """
    start = time.perf_counter()
    proba, fitted, reason = None, None, ""
    try:
        with one_blas_thread():
            if outside is None:
                fitted = fit_member(member, sample, inside, oob_score=True)
                proba = _out_of_bag(fitted, sample, inside)
            else:
                fitted = fit_member(member, sample, inside, **(options or {}))
                if len(outside):
                    tables = {member.table: sample.tables[member.table][outside]}
                    proba = fitted.predict_proba(tables)
    except Exception as error:  # whatever a member fails of, the others go on
        fitted, reason = None, f"{type(error).__name__}: {error}"
    return proba, fitted, reason, time.perf_counter() - start


def _out_of_bag(fitted: FittedMember, sample: Sample, rows: np.ndarray) -> np.ndarray:
    """Return what the trees of a forest that did not see a row say of it."""
    proba = np.zeros((len(rows), sample.n_classes))
    proba[:, fitted.codes] = np.nan_to_num(fitted.estimator.oob_decision_function_)
    in_every_tree = proba.sum(axis=1) == 0
    proba[in_every_tree] = np.bincount(sample.y[rows], minlength=sample.n_classes) / len(rows)
    return proba


def take_sample(rows: np.ndarray, y: np.ndarray, size: int | None, seed: int) -> np.ndarray:
    """Return `size` of the rows, classes in proportion but at least 50 of each where they exist.

    All of them where there are no more, or where `size` is None.

    Examples
    --------
    >>> from stakes.auto._members import take_sample
    >>> y = np.repeat([0, 1], [900, 100])
    >>> np.bincount(y[take_sample(np.arange(1000), y, 100, seed=0)])
    array([90, 50])
    """
    if size is None or len(rows) <= size:
        return rows
    rng = np.random.RandomState(seed)
    labels = y[rows]
    wanted = np.maximum(np.round(size * np.bincount(labels) / len(rows)), 50).astype(int)
    kept = [rng.permutation(rows[labels == t])[: wanted[t]] for t in np.unique(labels)]
    return np.sort(np.concatenate(kept))

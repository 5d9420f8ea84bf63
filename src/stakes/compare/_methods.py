"""The methods that can be compared by name, each made when it is first needed."""

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes.utils._arrays import quoted

BASELINE = "plain"
FEW_ROWS = 10_000


@dataclass(frozen=True)
class Setting:
    """What a method may want to know before it is made."""

    n_classes: int
    n_samples: int
    cost_matrix: np.ndarray | None = None
    random_state: int = 0
    threads: int = 1
    fast: bool = False


@dataclass(frozen=True)
class Method:
    """A way to decide, by name.

    Parameters
    ----------
    name, title, family : str
        The name to type, a title for people, the family it stands for.
    note : str
        What it does, in one sentence.
    make : callable, default=None
        ``make(setting)`` returns an estimator; None for `constant` and the rules.
    rule : str, default=None
        For rules on the probabilities of the plain model: the rule's class in
        `stakes.decision`, or ``"argmax"``.
    calibration : str, default=None
        How the probabilities are mended before the rule.
    limit : callable, default=None
        ``limit(setting)`` returns why the method is left out of the default set, or "".
    takes_tables : bool, default=False
        Whether it wants the table as it is, because it prepares mixed columns itself.
    """

    name: str
    title: str
    family: str
    note: str
    make: Callable[[Setting], Any] | None = None
    rule: str | None = None
    calibration: str | None = None
    limit: Callable[[Setting], str] | None = None
    takes_tables: bool = False

    @property
    def on_probabilities(self) -> bool:
        """Whether it decides from the plain model's probabilities."""
        return self.rule is not None

    @property
    def learns_rule(self) -> bool:
        """Whether it needs probabilities of examples that the plain model has not seen."""
        return self.calibration is not None or self.rule not in (
            None,
            "argmax",
            "MinimumExpectedCost",
        )


def plain_model_name() -> str:
    """Return the library of the plain model: LightGBM where it is installed."""
    return "LightGBM" if importlib.util.find_spec("lightgbm") else "HistGradientBoosting"


def plain_model(setting: Setting) -> Any:
    """Return the model that people would use today, with its default settings but one.

    By default both libraries let a leaf follow a class of a handful of examples as far as
    its gradients lead, which can upset all the others: on `nursery`, with a class of two
    rows, LightGBM's error is 3% to 15% with its default least hessian of a leaf and 0.05%
    with 1. A comparison with a model that has come apart would flatter everything else.
    """
    if plain_model_name() == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            random_state=setting.random_state,
            min_child_weight=1.0,
            subsample_for_bin=50_000,  # where to cut features; by default it copies all rows
            # On few rows more threads wait for each other longer than they work.
            n_jobs=1 if setting.n_samples < FEW_ROWS else setting.threads,
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
        )
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(l2_regularization=1.0, random_state=setting.random_state)


def _learner(
    module: str, name: str, /, *, base: bool = False, heavy: bool = False, **params
) -> Callable:
    """Return a factory of ``stakes.<module>.<name>`` that imports it on use.

    With `base` it wraps the plain model; where it is `heavy`, workers pay from few rows on.
    """

    def make(setting: Setting) -> Any:
        cls = getattr(importlib.import_module(f"stakes.{module}"), name)
        accepted = inspect.signature(cls).parameters
        offered = {
            "cost_matrix": setting.cost_matrix,
            "random_state": setting.random_state,
            # Workers cost more than they bring where there is little to do.
            "n_jobs": setting.threads if heavy or setting.n_samples >= FEW_ROWS else 1,
            **params,
        }
        if base:
            offered["estimator"] = plain_model(setting)
        return cls(**{key: value for key, value in offered.items() if key in accepted})

    return make


def _bagged(name: str, **params) -> Callable:
    """As `_learner` for the baggers: linear machines where that is quick, else trees.

    The linear machines are exact linear programmes, one per bag and pair of classes.
    """
    inner = _learner("bagging", name, **params)

    def make(setting: Setting) -> Any:
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.tree import DecisionTreeClassifier

        bagger = inner(setting)
        if setting.n_classes > 2 or setting.n_samples > FEW_ROWS // 10:
            bagger.set_params(estimator=DecisionTreeClassifier(min_samples_leaf=5))
        return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), bagger)

    return make


def _at_most(rows: int, why: str) -> Callable[[Setting], str]:
    def limit(setting: Setting) -> str:
        if setting.n_samples <= rows:
            return ""
        return f"left out of the default set beyond {rows:,} rows ({why}); name it to run it"

    return limit


def _pairs_limit(setting: Setting) -> str:
    pairs = setting.n_classes * (setting.n_classes - 1) // 2
    if pairs * setting.n_samples <= 5_000_000:
        return ""
    return f"left out of the default set ({pairs} pairs of classes); name it to run it"


_METHODS = (
    Method("constant", "One decision for all", "reference", "The best single decision."),
    Method(
        BASELINE,
        "Plain model, most probable class",
        "reference",
        "What people do today: costs play no part.",
        rule="argmax",
    ),
    Method(
        "stakes",
        "Stakes default",
        "default",
        "A calibrated blend of models, then the decision of least expected cost.",
        make=_learner("auto", "StakesClassifier", heavy=True),
        takes_tables=True,
    ),
    Method(
        "mec",
        "Plain model, least expected cost",
        "decision",
        "The plain model's probabilities, taken at their word.",
        rule="MinimumExpectedCost",
    ),
    Method(
        "calibrated",
        "Calibrated model, least expected cost",
        "decision",
        "Temperature scaling on held-out rows, then the decision of least expected cost.",
        rule="MinimumExpectedCost",
        calibration="temperature",
    ),
    Method(
        "partition",
        "Learned partition",
        "decision",
        "Where one decision ends and the next begins is learned on held-out probabilities.",
        rule="ParallelPartition",
    ),
    Method(
        "thresholds",
        "Learned thresholds",
        "decision",
        "One threshold per class, learned on held-out probabilities.",
        rule="ClassThresholds",
    ),
    Method(
        "weighted",
        "Cost-weighted model",
        "reduction",
        "The plain model with each example weighted by what its mistakes cost on average.",
        make=_learner("reductions", "AverageCostClassifier", base=True, n_estimators=1),
    ),
    Method(
        "forest",
        "Cost forest",
        "tree",
        "Trees whose splits and leaves minimise the cost of decisions.",
        make=_learner("tree", "CostForestClassifier"),
    ),
    Method(
        "tree",
        "Cost tree",
        "tree",
        "One tree whose splits and leaves minimise the cost of decisions.",
        make=_learner("tree", "CostTreeClassifier", max_depth=8, min_samples_leaf=20),
    ),
    Method(
        "costing",
        "Costing",
        "reduction",
        "Many classifiers, each on a sample drawn in proportion to the costs.",
        make=_learner("reductions", "CostingClassifier"),
    ),
    Method(
        "gbse",
        "GBSE",
        "reduction",
        "Gradient boosting with stochastic ensembles over (example, decision) pairs.",
        make=_learner("reductions", "GBSEClassifier"),
        limit=_at_most(100_000, "its pairs grow with rows times classes"),
    ),
    Method(
        "csovo",
        "Cost-sensitive one-vs-one",
        "reduction",
        "A weighted vote between every two decisions.",
        make=_learner("reductions", "CostSensitiveOneVsOneClassifier"),
        limit=_pairs_limit,
    ),
    Method(
        "combo",
        "CoMBo boosting",
        "boosting",
        "Boosting that weighs every class alike and every mistake by its price.",
        make=_learner("boosting", "CoMBoClassifier"),
    ),
    Method(
        "bacing",
        "Bagging with adaptive costs",
        "bagging",
        "Bags whose costs follow what the others got wrong.",
        make=_bagged("BacingClassifier", n_estimators=30),
        limit=_at_most(50_000, "its bags are fitted one after the other"),
    ),
    Method(
        "metacost",
        "MetaCost",
        "reduction",
        "Relabels the training set with the cheapest class, then fits one classifier.",
        make=_learner("reductions", "MetaCostClassifier"),
    ),
    Method(
        "iw",
        "Iterative weighting",
        "reduction",
        "Weights that follow the costs of the current mistakes.",
        make=_learner("reductions", "IterativeWeightingClassifier"),
    ),
    Method(
        "dse",
        "Data space expansion",
        "reduction",
        "Every label of every example, weighted by what it saves.",
        make=_learner("reductions", "DataSpaceExpansionClassifier"),
    ),
    Method(
        "adaboost_mm",
        "AdaBoost.MM",
        "boosting",
        "Multi-class boosting on a cost matrix of its own.",
        make=_learner("boosting", "AdaBoostMMClassifier"),
    ),
    Method(
        "adaboost_nc",
        "AdaBoost.NC",
        "boosting",
        "Boosting that rewards disagreement among members.",
        make=_learner("boosting", "AdaBoostNCClassifier"),
    ),
    Method(
        "smoteboost",
        "SMOTEBoost",
        "boosting",
        "Boosting on synthetic examples of the rare classes.",
        make=_learner("boosting", "SMOTEBoostClassifier"),
    ),
    Method(
        "arcx4",
        "Arc-x4",
        "bagging",
        "Resampling by the fourth power of past mistakes.",
        make=_bagged("ArcX4Classifier", n_estimators=30),
        limit=_at_most(50_000, "its bags are fitted one after the other"),
    ),
    Method(
        "column_partition",
        "Column partition",
        "decision",
        "As `partition`, one factor per decision.",
        rule="ColumnPartition",
    ),
    Method(
        "row_partition",
        "Row partition",
        "decision",
        "As `partition`, one factor per true class.",
        rule="RowPartition",
    ),
    Method(
        "full_partition",
        "Full partition",
        "decision",
        "As `partition`, every cell free.",
        rule="FullPartition",
    ),
    Method(
        "lachiche_flach",
        "Lachiche and Flach's weights",
        "decision",
        "One weight per class on the probabilities.",
        rule="LachicheFlach",
    ),
    Method(
        "mossman",
        "Mossman's rule",
        "decision",
        "Two thresholds; three classes only.",
        rule="Mossman",
    ),
    Method(
        "boosted_cost",
        "Expected-cost boosting",
        "boosting",
        "Gradient boosting of the expected cost itself.",
        make=_learner("auto", "ExpectedCostBoostingClassifier"),
    ),
)
REGISTRY = {method.name: method for method in _METHODS}

DEFAULT_METHODS = (
    "constant",
    BASELINE,
    "mec",
    "calibrated",
    "partition",
    "thresholds",
    "weighted",
    "forest",
    "costing",
    "gbse",
    "csovo",
    "combo",
    "bacing",
    "stakes",
)
FAST_METHODS = ("constant", BASELINE, "mec", "calibrated", "partition", "tree")


def list_methods() -> Any:
    """Return the methods that have a name, as a table.

    Returns
    -------
    table : DataFrame
        Indexed by name: `title`, `family`, what it does (`note`), and whether it is in
        the `default` and in the `fast` set.

    Examples
    --------
    >>> from stakes.compare import list_methods
    >>> list_methods().loc["gbse", ["family", "default", "fast"]].tolist()
    ['reduction', True, False]
    """
    import pandas as pd

    return pd.DataFrame(
        {
            method.name: {
                "title": method.title,
                "family": method.family,
                "note": method.note,
                "default": method.name in DEFAULT_METHODS,
                "fast": method.name in FAST_METHODS,
            }
            for method in _METHODS
        }
    ).T.rename_axis("name")


def find_method(name: str) -> Method:
    """Return a method by name; an unknown name is refused with the nearest ones."""
    if name in REGISTRY:
        return REGISTRY[name]
    near = difflib.get_close_matches(name.lower(), REGISTRY, n=3)
    hint = f"did you mean {quoted(near)}?" if near else f"the names are {', '.join(REGISTRY)}."
    raise ValueError(f"There is no method {name!r}: {hint}")

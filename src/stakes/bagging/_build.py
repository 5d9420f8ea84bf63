"""How the methods of this package are made for a problem: scaled, and of the right members."""

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from stakes._methods import Setting, with_options

# Members are trees from here on: a linear programme per bag and pair of classes takes long.
MOST_LINEAR_ROWS = 1_000


def member_tree() -> DecisionTreeClassifier:
    """Return the tree that members are, where linear programmes would take long."""
    return DecisionTreeClassifier(min_samples_leaf=5)


def standardized(**options: Any) -> Callable[[type, Setting], Pipeline]:
    """Return a builder: missing values filled in, features scaled, then the learner.

    Parameters
    ----------
    **options
        For the constructor. An ensemble is given trees as members, where its linear
        programmes would take long.
    """
    return partial(_build, with_options(**options))


def _build(make: Callable, cls: type, setting: Setting) -> Pipeline:
    learner = make(cls, setting)
    many = setting.n_classes > 2 or setting.n_samples > MOST_LINEAR_ROWS
    if many and "estimator" in learner.get_params(deep=False):
        learner.set_params(estimator=member_tree())
    return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), learner)

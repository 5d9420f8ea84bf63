"""Fitting one method on all rows."""

from typing import Any

from stakes.compare._fitting import fit_method, make_setting
from stakes.compare._model import DecisionModel, column_quantiles
from stakes.compare._problem import make_problem
from stakes.compare._registry import find_method, own_method
from stakes.tables import profile_columns
from stakes.utils._collections import or_on_cluster
from stakes.utils._frames import is_frame


@or_on_cluster(lambda cluster: cluster.fit_model)
def fit_model(
    X: Any,
    y: Any = None,
    method: Any = "stakes",
    *,
    cost_matrix: Any = None,
    costs: Any = None,
    cost_tensor: Any = None,
    random_state: int = 0,
    n_jobs: int = 1,
    fast: bool = False,
    time_limit: float | None = None,
    keep_identifiers: bool = False,
) -> DecisionModel:
    """Fit one method of `compare` on all rows.

    Parameters
    ----------
    X, y, cost_matrix, costs, cost_tensor
        As in `stakes.compare.compare`; Dask collections are learned from where they lie.
    method : str or estimator, default="stakes"
        A name of `list_methods`, or an estimator.
    random_state : int, default=0
        Seed.
    n_jobs : int, default=1
        Cores that the method may use.
    fast : bool, default=False
        Learn rules on one held-out quarter instead of inner folds, as ``compare(fast=True)``.
    time_limit : float, default=None
        Seconds, for a method that can keep to them: the default, `StakesClassifier`. Others
        refuse it.
    keep_identifiers : bool, default=False
        Learn from columns that tell rows apart, too (`stakes.tables.find_identifiers`). They are
        left out otherwise, with a warning, and named in ``model.info["left_out"]``.

    Returns
    -------
    model : DecisionModel
        Takes the table as it is, and says what to decide.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from stakes.compare import fit_model
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> C = [[0, 1, 1], [1, 0, 1], [20, 20, 0]]
    >>> model = fit_model(X, y, "mec", cost_matrix=C)
    >>> model.decide(X.iloc[[0, 149]])["decision"].tolist()
    [0, 2]
    """
    costs_given = {"cost_matrix": cost_matrix, "costs": costs, "cost_tensor": cost_tensor}
    problem = make_problem(X, y, **costs_given, keep_identifiers=keep_identifiers)
    if isinstance(method, str):
        chosen = find_method(method)
    else:
        chosen = own_method(type(method).__name__, method, problem.classes)
    if time_limit is not None and not chosen.keeps_time:
        raise ValueError(f"{chosen.name} takes as long as it takes: give it no time_limit.")
    given: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "fast": fast}
    setting = make_setting(problem, **given, time_limit=time_limit)
    model = fit_method(chosen, problem, setting)[0]
    model.quantiles = column_quantiles(problem.features)
    if is_frame(problem.X):
        model.profiles = profile_columns(problem.features)
    if problem.left_out:
        model.info["left_out"] = list(problem.left_out)
    return model

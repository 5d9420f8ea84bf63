"""Every method there is: ours, those that other packages enter, and estimators of the user's."""

import difflib
from functools import cache, partial
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import stakes.auto
import stakes.bagging
import stakes.boosting
import stakes.decision
import stakes.reductions
import stakes.tree  # noqa: F401  # importing a package enters the methods that it declares
from stakes._base import CostSensitiveMixin
from stakes._learning.capabilities import cannot
from stakes._methods import Method, Setting, declared_methods, kinds_of
from stakes.compare._sources import source_key
from stakes.costs import KINDS, CostMatrix
from stakes.utils._arrays import quoted

if TYPE_CHECKING:
    import pandas as pd

ENTRY_POINTS = "stakes.methods"


@cache
def _load_entries() -> None:
    for entry in entry_points(group=ENTRY_POINTS):
        entry.load()


def all_methods() -> dict[str, Method]:
    """Return every declared method by name, the references first."""
    _load_entries()
    methods = sorted(declared_methods().values(), key=lambda method: not method.reference)
    return {method.name: method for method in methods}


def find_method(name: str) -> Method:
    """Return a method by name; an unknown name is refused with the nearest ones."""
    known = all_methods()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {quoted(near)}?" if near else f"the names are {', '.join(known)}."
    raise ValueError(f"There is no method {name!r}: {hint}")


def list_methods() -> "pd.DataFrame":
    """Return the methods that have a name, as a table.

    Returns
    -------
    table : DataFrame
        Indexed by name: `title`, `family`, what it does (`note`), the kinds of `costs` it
        takes, whether it is in the `default` and in the `fast` set, in which forms it
        `exports`, why it has none (`no_export`), and what it `cannot` do: the reasons, by the
        case, such as "abstain", and the way of asking, such as "plan".

    Examples
    --------
    >>> from stakes.compare import list_methods
    >>> list_methods().query("default and not fast").loc["gbse", ["family", "costs"]].tolist()
    ['reduction', ('class', 'hindsight')]
    """
    import pandas as pd

    rows = {
        method.name: {
            "title": method.title,
            "family": method.family,
            "note": method.note,
            "costs": method.kinds,
            "default": method.default or method.reference,
            "fast": method.fast or method.reference,
            "exports": method.exports,
            "no_export": method.no_export,
            "cannot": cannot(method.cls),
        }
        for method in all_methods().values()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("name")


def own_method(name: str, estimator: Any, classes: np.ndarray) -> Method:
    """Return an estimator of the user's as a method.

    Where it has a parameter `cost_matrix` that is None, it is given the class costs.
    """
    if isinstance(estimator, type) or not all(hasattr(estimator, m) for m in ("fit", "predict")):
        raise TypeError(
            f"{estimator!r} is neither a method's name nor an estimator with fit and predict."
        )
    cls = type(estimator)

    return Method(
        name=name,
        cls=cls,
        family="yours",
        title=name if name.startswith(cls.__name__) else f"{name} (yours)",
        note=f"{cls.__name__}, as given.",
        # An estimator from elsewhere may look at no costs: what it costs is still of interest.
        kinds=kinds_of(estimator) if isinstance(estimator, CostSensitiveMixin) else tuple(KINDS),
        build=partial(_copy_of, estimator, classes),
        takes_tables=isinstance(estimator, Pipeline),
        takes_labels=True,
    )


def _copy_of(estimator: Any, classes: np.ndarray, cls: type, setting: Setting) -> Any:
    """Return an unfitted copy; where a `cost_matrix` in it is None, it is given the class costs."""
    copy = clone(estimator)
    if setting.cost_matrix is None or not hasattr(copy, "get_params"):
        return copy
    empty = [
        key
        for key, value in copy.get_params(deep=True).items()
        if key.rpartition("__")[2] == "cost_matrix" and value is None
    ]
    decisions = None if setting.choices is None else setting.choices.labels
    matrix = CostMatrix(setting.cost_matrix, labels=classes, decisions=decisions)
    return copy.set_params(**dict.fromkeys(empty, matrix)) if empty else copy


def stored_name(method: Method, setting: Setting) -> str:
    """Return the name under which a method's runs are stored: of the user's, with parameters."""
    if not method.takes_labels:
        limited = setting.time_limit is not None and method.keeps_time
        return f"{method.name}=within{setting.time_limit:g}s" if limited else method.name
    return f"{method.name}={source_key(method.make(setting))}"

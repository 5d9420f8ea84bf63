"""How a method is declared: beside its class, once, for everything that lists methods.

``@method("gbse", ...)`` on a classifier, or on a rule of `stakes.decision`, enters it under a
name. Its title and note are the first line of its docstring, "Title: note."; the kinds of costs
it takes are read from the class. `compare`, `fit`, saving, ``stakes methods``, the common checks and
the documentation read these declarations; another package enters its own through the entry point
group ``stakes.methods``.
"""

import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin

from stakes.costs import KINDS, ONLY_CLASSES, Choices, CostMatrix

# Below this number of rows a second worker costs more than it brings.
FEW_ROWS = 10_000

Declared = TypeVar("Declared", bound=type)
_declared: dict[str, "Method"] = {}


@dataclass(frozen=True)
class Setting:
    """What a method may want to know before it is made.

    Parameters
    ----------
    n_classes, n_samples : int
        The size of the problem.
    plain_model : callable
        Returns a new model that people would use today, for methods that wrap one.
    cost_matrix : ndarray of shape (n_classes, n_decisions), default=None
        Class costs; None where costs come with the examples.
    choices : Choices, default=None
        What may be decided, where that is not the classes.
    doubt : UncertainCostMatrix, default=None
        The class costs themselves, where they are not known for sure.
    random_state : int, default=0
        The seed.
    n_jobs : int, default=1
        Cores that the method may use.
    fast : bool, default=False
        Whether rules are learned on one held-out quarter instead of inner folds.
    smallest_class : int, default=5
        The number of examples of the rarest class.
    time_limit : float, default=None
        Seconds of one fit, for methods that can keep to them.
    """

    n_classes: int
    n_samples: int
    plain_model: Callable[[], Any]
    cost_matrix: np.ndarray | None = None
    choices: Choices | None = None
    doubt: Any = None
    random_state: int = 0
    n_jobs: int = 1
    fast: bool = False
    smallest_class: int = 5
    time_limit: float | None = None

    @property
    def prices(self) -> Any:
        """The class costs for a method that learns positions; decisions are named by numbers."""
        if self.choices is None or self.cost_matrix is None:
            return self.cost_matrix
        return CostMatrix(self.cost_matrix, range(self.n_classes), self.choices.coded().labels)


def _always(setting: Setting) -> str:
    return ""


@dataclass(frozen=True)
class Method:
    """A way to decide, by name.

    Attributes
    ----------
    name : str
        What users type.
    cls : type
        The classifier, or the rule of `stakes.decision`, that it is declared beside.
    family : str
        What it belongs to, such as ``"reduction"``.
    title, note : str
        For people; from the docstring.
    kinds : tuple of str
        The kinds of costs that it takes, of `stakes.costs.KINDS`.
    build : callable
        ``build(cls, setting)`` returns a new estimator.
    default, fast : bool
        Whether `compare` runs it when no methods are named, and when it should be quick.
    reference : bool
        Whether it joins every comparison; a reference may look at no costs.
    takes_tables : bool
        Whether it wants the table as it is, because it prepares mixed columns itself.
    takes_labels : bool
        Whether it learns the class labels themselves; ours learn their positions.
    only : callable
        ``only(setting)`` returns why the method cannot serve at all, or "".
    limit : callable
        ``limit(setting)`` returns why it is left out unless it is named, or "".
    needs : tuple of str
        Optional libraries without which it cannot run.
    exports : tuple of str
        In which forms `stakes.export` can take it elsewhere.
    no_export : str
        Why it cannot be taken elsewhere at all, where it cannot.
    """

    name: str
    cls: type
    family: str
    title: str
    note: str
    kinds: tuple[str, ...]
    build: Callable[[type, Setting], Any]
    default: bool = False
    fast: bool = False
    reference: bool = False
    takes_tables: bool = False
    takes_labels: bool = False
    only: Callable[[Setting], str] = _always
    limit: Callable[[Setting], str] = _always
    needs: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    no_export: str = ""

    def __post_init__(self) -> None:
        if not self.exports and not self.no_export:
            object.__setattr__(self, "no_export", "its maker has not said how it is exported")

    @property
    def shares_plain_model(self) -> bool:
        """Whether it is a rule on the probabilities of the plain model."""
        return not issubclass(self.cls, ClassifierMixin)

    @property
    def keeps_time(self) -> bool:
        """Whether it can be told how long a fit may take."""
        return "time_limit" in inspect.signature(self.cls).parameters

    def make(self, setting: Setting) -> Any:
        """Return a new estimator for this problem."""
        return self.build(self.cls, setting)

    def unfit(self, setting: Setting, kind: str) -> str:
        """Return why the method cannot serve this problem and kind of costs, or ""."""
        if kind not in self.kinds:
            return f"it cannot use {KINDS[kind]}"
        if setting.choices is not None and getattr(self.cls, "_decides_only_classes", False):
            return f"it {ONLY_CLASSES}"
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if absent:
            return f"it needs {', '.join(absent)}, which is not installed"
        return self.only(setting)


def method(
    name: str,
    *,
    family: str,
    build: Callable[[type, Setting], Any] | None = None,
    title: str | None = None,
    note: str | None = None,
    **more: Any,
) -> Callable[[Declared], Declared]:
    """Declare a method; the decorator returns the class as it was.

    Parameters
    ----------
    name, family
        As in `Method`.
    build : callable, default=None
        ``build(cls, setting)``; None passes what the constructor takes of the cost matrix, the
        seed and the number of jobs. See `with_options`.
    title, note : str, default=None
        Where a class is declared under several names; else the docstring's first line.
    **more
        The other attributes of `Method`.
    """

    def declare(cls: Declared) -> Declared:
        own_title, own_note = _first_line(cls)
        entry = Method(
            name=name,
            cls=cls,
            family=family,
            title=own_title if title is None else title,
            note=own_note if note is None else note,
            kinds=kinds_of(cls),
            build=build or with_options(),
            **more,
        )
        known = _declared.get(name)
        if known is not None and (known.cls.__module__, known.cls.__qualname__) != (
            cls.__module__,
            cls.__qualname__,
        ):
            raise ValueError(
                f"Two methods are called {name!r}: {known.cls.__qualname__} and {cls.__qualname__}."
            )
        _declared[name] = entry
        return cls

    return declare


def _first_line(cls: type) -> tuple[str, str]:
    line = (inspect.getdoc(cls) or "").strip().split("\n\n")[0].replace("\n", " ")
    title, colon, note = line.partition(": ")
    if not colon:
        raise ValueError(
            f"The docstring of {cls.__name__} begins with {line!r}, but that of a method begins "
            'with "Title: what it does."'
        )
    return title, note[:1].upper() + note[1:]


def kinds_of(learner: Any) -> tuple[str, ...]:
    """Return the kinds of costs that a classifier or rule of ours takes, by its class or itself."""
    weighs = getattr(learner, "_weighs_cost_tensor", False)
    return tuple(kind for kind in KINDS if kind != "deciding" or weighs)


def with_options(*, plain: bool = False, heavy: bool = False, **options: Any) -> Callable:
    """Return a builder that offers the constructor the usual, and these options.

    Parameters
    ----------
    plain : bool, default=False
        Whether to wrap the plain model.
    heavy : bool, default=False
        Whether workers pay from few rows on.
    **options
        For the constructor.
    """
    return partial(_build, plain=plain, heavy=heavy, options=options)


def _build(cls: type, setting: Setting, plain: bool, heavy: bool, options: dict) -> Any:
    offered = {
        "cost_matrix": setting.prices,
        "random_state": setting.random_state,
        "n_jobs": setting.n_jobs if heavy or setting.n_samples >= FEW_ROWS else 1,
        "time_limit": setting.time_limit,
        **options,
    }
    if plain:
        offered["estimator"] = setting.plain_model()
    accepted = inspect.signature(cls).parameters
    return cls(**{key: value for key, value in offered.items() if key in accepted})


def at_most(rows: int, why: str) -> Callable[[Setting], str]:
    """Return a limit on the number of rows."""
    return partial(_beyond, rows, why)


def _beyond(rows: int, why: str, setting: Setting) -> str:
    if setting.n_samples <= rows:
        return ""
    return f"left out of the default set beyond {rows:,} rows ({why}); name it to run it"


def declared_methods() -> dict[str, Method]:
    """Return what has been declared so far, by name, in the order of declaration."""
    return dict(_declared)

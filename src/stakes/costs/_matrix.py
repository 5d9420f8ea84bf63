"""CostMatrix: what each mistake costs, with its labels."""

import os
from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes.costs._choices import repeated, settle_columns, warn_of_misspelling
from stakes.costs._examples import read_costs
from stakes.costs._named import ordinal_costs, taxonomy_costs
from stakes.costs._read import CostWarning, read_labelled, rows_are_named_decisions, said_of
from stakes.costs.arithmetic import (
    average_cost_rows,
    binary_threshold,
    complaints,
    equal_risk_point,
    imbalance_costs,
    rarity_costs,
    shift_rows,
)
from stakes.utils._arrays import describe, finite_array, quoted
from stakes.utils._checks import warn
from stakes.utils._files import write_atomically
from stakes.utils._formulas import harmless
from stakes.utils._frames import as_frame, kind_of
from stakes.utils._labels import as_labels, encode_labels, label_positions

if TYPE_CHECKING:
    import pandas as pd


class CostMatrix:
    r"""What each decision costs for each true class: an immutable, labelled table.

    Rows are the truth and columns the decision, as in
    `sklearn.metrics.confusion_matrix`. A matrix copied from a paper that writes
    C(predicted, true) comes in through `from_predicted_true`. What may be decided is the classes,
    unless `decisions` names it.

    Parameters
    ----------
    values : array-like of shape (n_classes, n_decisions)
        ``values[t, d]`` is the cost of deciding ``d`` when the truth is ``t``. Negative
        entries are benefits.
    labels : array-like of shape (n_classes,), default=None
        The class labels, in the order of the rows (and columns). If None, the matrix
        follows the order of `classes_` wherever it is used, which is refused where classes are text.
    decisions : array-like of shape (n_decisions,), default=None
        What may be done, in the order of the columns; the classes if None. A name that is a
        class, too, is one label for both; where all names are, the columns are put in the order
        of `labels`.

    Attributes
    ----------
    values : ndarray of shape (n_classes, n_decisions)
        The costs; read-only.
    labels : tuple or None
        The labels.
    decisions : tuple or None
        The decisions, in the order of the columns; the labels where they are the classes.

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 10], [1000, 0]], labels=["pays", "defaults"])
    >>> C.cost(true="defaults", predicted="pays")
    1000.0
    >>> C
    CostMatrix
    true \ predicted  pays  defaults
    pays                 0        10
    defaults          1000         0

    A loan can be given, given by half, or declined:

    >>> loans = CostMatrix([[-50, -30, 0], [900, 300, 0]], labels=["pays", "defaults"],
    ...                    decisions=["lend", "lend half", "decline"])
    >>> loans.cost(true="defaults", decided="lend half")
    300.0
    """

    __slots__ = ("_decisions", "_labels", "_values")

    def __init__(self, values: Any, labels: Any = None, decisions: Any = None):
        if hasattr(values, "columns") and hasattr(values, "index"):
            raise TypeError(
                "A DataFrame carries its own labels: use CostMatrix.from_frame(frame)."
            )
        array = finite_array(values, name="cost_matrix")
        check_shape(array.shape, labels, decisions)
        if labels is not None:
            labels = as_labels(labels)
            twice = repeated(labels)
            if twice:
                raise ValueError(f"The labels name a class twice: {quoted(twice)}.")
        if decisions is not None and labels is not None:
            order, named = settle_columns(decisions, labels, name="The cost matrix")
            array, decisions = array[:, order], None if named == labels else named
        elif decisions is not None:
            decisions = settle_columns(decisions, (), name="The cost matrix")[1]
        array = array.copy()
        array.setflags(write=False)
        self._values = array
        self._labels = labels
        self._decisions = decisions

    # -- named constructors ---------------------------------------------------------

    @classmethod
    def zero_one(cls, labels: Any) -> "CostMatrix":
        """Every mistake costs 1; `labels` is a list of labels or the number of classes.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.zero_one(2).values
        array([[0., 1.],
               [1., 0.]])
        """
        if isinstance(labels, Integral):
            return cls(1.0 - np.eye(int(labels)))
        return cls(1.0 - np.eye(len(as_labels(labels))), labels)

    @classmethod
    def binary(
        cls,
        *,
        fp: float,
        fn: float,
        tp: float = 0.0,
        tn: float = 0.0,
        labels: Any = None,
        positive: Any = None,
    ) -> "CostMatrix":
        r"""Build a two-class matrix from its four costs.

        Parameters
        ----------
        fp, fn, tp, tn : float
            What a false alarm costs, a miss, a hit, and rightly doing nothing.
        labels : array-like of shape (2,), default=None
            The class labels. If None, 0 and 1 or the like: the second class is the positive one.
        positive : label, default=None
            Which of `labels` is the positive class; the second one if None.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.binary(fp=10, fn=1000, labels=["defaults", "pays"], positive="defaults")
        CostMatrix
        true \ predicted  pays  defaults
        pays                 0        10
        defaults          1000         0
        """
        if positive is not None:
            known = as_labels(() if labels is None else labels)
            if len(known) != 2 or positive not in known:
                raise ValueError(
                    f"positive={positive!r} must be one of two labels, but labels={labels!r}."
                )
            labels = sorted(known, key=lambda label: label == positive)
        return cls([[tn, fp], [fn, tp]], labels)

    @classmethod
    def rarity(cls, y: Any) -> "CostMatrix":
        """Mistaking a rare class for a common one is expensive: N_pred / (N_pred + N_true).

        Examples
        --------
        Three of class "a", one of class "b":

        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.rarity(["a", "a", "a", "b"]).values
        array([[0.  , 0.25],
               [0.75, 0.  ]])
        """
        labels, counts = _class_counts(y)
        return cls(rarity_costs(counts), labels)

    @classmethod
    def imbalance(cls, y: Any) -> "CostMatrix":
        """Mistaking a rare class for a common one costs their ratio; the reverse costs 1.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.imbalance(["a", "a", "a", "b"]).values
        array([[0., 1.],
               [3., 0.]])
        """
        labels, counts = _class_counts(y)
        return cls(imbalance_costs(counts), labels)

    @classmethod
    def ordinal(
        cls, labels: Any, *, power: float = 1.0, over: float = 1.0, under: float = 1.0
    ) -> "CostMatrix":
        """Classes in an order: a mistake costs the more, the more steps it is off.

        Parameters
        ----------
        labels : array-like
            The classes, from the lowest to the highest.
        power : float, default=1
            Of the number of steps.
        over, under : float, default=1
            What a step above the truth costs, and one below.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.ordinal(["low", "middle", "high"], under=5).values
        array([[ 0.,  1.,  2.],
               [ 5.,  0.,  1.],
               [10.,  5.,  0.]])
        """
        return cls(ordinal_costs(len(as_labels(labels)), power, over, under), labels)

    @classmethod
    def taxonomy(cls, tree: Mapping, *, vague: float = 1.0, wrong: float = 2.0) -> "CostMatrix":
        r"""Classes that are kinds of something: its kinds are decisions, too ("some animal").

        Parameters
        ----------
        tree : dict
            Nested: what is a dict is a kind, the rest are the classes, each with how much more its
            mistakes cost than others' (None is 1).
        vague : float, default=1
            What each level costs that a decision is less exact than the truth.
        wrong : float, default=2
            What each level costs that leads down to something else.

        Examples
        --------
        Not to say which animal costs 1, to say the wrong one 1 up and 2 down:

        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.taxonomy({"animal": {"cat": None, "dog": None}, "car": None})
        CostMatrix
        true \ decided  cat  dog  car  animal
        cat               0    3    4       1
        dog               3    0    4       1
        car               5    5    0       3
        """
        return cls(*taxonomy_costs(tree, vague, wrong))

    @classmethod
    def from_predicted_true(
        cls, values: Any, labels: Any = None, decisions: Any = None
    ) -> "CostMatrix":
        """Build from C(predicted, true), the orientation of most papers, by transposing it.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.from_predicted_true([[0, 1000], [10, 0]]).values
        array([[   0.,   10.],
               [1000.,    0.]])
        """
        return cls(finite_array(values, name="cost_matrix").T, labels, decisions)

    @classmethod
    def from_benefits(cls, values: Any, labels: Any = None, decisions: Any = None) -> "CostMatrix":
        """Build from gains, ``values[true, decided]``: a cost is what falls short of the best.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.from_benefits([[5, 0], [-20, 0]]).values
        array([[ 0.,  5.],
               [20.,  0.]])
        """
        return cls(-finite_array(values, name="benefits"), labels, decisions).normalized()

    @classmethod
    def from_examples(cls, costs: Any, y: Any, labels: Any = None) -> "CostMatrix":
        """Average the costs of the examples of each true class.

        Parameters
        ----------
        costs : array-like or DataFrame of shape (n_samples, n_decisions)
            What each decision costs for each example. The columns of a DataFrame name the
            decisions; those of an array are the classes.
        y : array-like of shape (n_samples,)
            The true classes.
        labels : array-like of shape (n_classes,), default=None
            The classes in the order of the columns of an array; the sorted classes of `y`
            if None.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.from_examples([[0, 1], [0, 3], [7, 0]], ["a", "a", "b"]).values
        array([[0., 2.],
               [7., 0.]])
        """
        labels, codes = encode_labels(y, labels)
        rows, decisions = read_costs(costs, n_samples=len(codes), classes=labels)
        return cls(average_cost_rows(rows, codes, len(labels)), labels, decisions)

    @classmethod
    def from_frame(cls, frame: Any) -> "CostMatrix":
        """Build from a DataFrame whose index is the truth and whose columns are the decisions.

        Where the columns are the classes of the index, in whatever order, they are aligned by
        label. Else they name the decisions. Tables of
        other libraries have no index: the truth is then their first column where that holds
        text, and else the rows stand in the order of the columns.

        Examples
        --------
        >>> import pandas as pd
        >>> from stakes.costs import CostMatrix
        >>> frame = pd.DataFrame([[10, 0], [0, 1000]], index=["a", "b"], columns=["b", "a"])
        >>> CostMatrix.from_frame(frame).cost(true="b", predicted="a")
        1000.0
        """
        has_index, frame = hasattr(frame, "index"), as_frame(frame)
        if not has_index and frame.shape[1] and kind_of(frame.dtypes.iloc[0]) != "number":
            frame = frame.set_index(frame.columns[0])
        elif not has_index and len(frame) == frame.shape[1]:
            frame = frame.set_axis(frame.columns, axis=0)
        if has_index and rows_are_named_decisions(frame.index.name, frame.columns.name):
            warn(
                "ST303",
                f"The axes of the table are called {frame.index.name!r} and {frame.columns.name!r}, "
                "so its rows were read as the decisions and its columns as the truth.",
                CostWarning,
                stacklevel=2,
            )
            frame = frame.T
        rows, columns = as_labels(frame.index), as_labels(frame.columns)
        values = finite_array(frame.to_numpy(), name="cost_matrix", rows=rows, columns=columns)
        warn_of_misspelling(rows, columns)
        return cls(values, rows, columns)

    @classmethod
    def from_csv(cls, path: str | os.PathLike) -> "CostMatrix":
        r"""Read a labelled table: true classes down the first column, decisions in the first row.

        Labels are read as text; they meet number labels of `y` by their text. Cells may be
        separated by commas, semicolons, tabs or bars; the text is UTF-8. Where the first cell
        says that rows are the decisions, such as ``predicted \ true``, the table is turned round,
        with a `CostWarning`.
        """
        import pandas as pd

        names, columns, rows = read_labelled(path)
        with said_of(path):
            return cls.from_frame(pd.DataFrame(rows, names, columns, dtype=object))

    # -- reading ----------------------------------------------------------------------

    @property
    def values(self) -> np.ndarray:
        """The costs, ``values[true, decided]``; read-only."""
        return self._values

    @property
    def labels(self) -> tuple | None:
        """The class labels, or None."""
        return self._labels

    @property
    def decisions(self) -> tuple | None:
        """The decisions, in the order of the columns; the labels where they are the classes."""
        return self._labels if self._decisions is None else self._decisions

    @property
    def decides_classes(self) -> bool:
        """Whether the decisions are the classes."""
        return self._decisions is None

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self._values.shape[0]

    @property
    def n_decisions(self) -> int:
        """The number of decisions."""
        return self._values.shape[1]

    def cost(self, *, true: Any, predicted: Any = None, decided: Any = None) -> float:
        """Return the cost of deciding `decided` when the truth is `true`, by label.

        `predicted` is another word for `decided`.
        """
        if (predicted is None) == (decided is None):
            raise TypeError("cost() needs true= and one of predicted= and decided=.")
        decided = predicted if decided is None else decided
        rows, columns = self._known()
        return float(
            self._values[_index(true, rows, "class"), _index(decided, columns, "decision")]
        )

    def costs_for(self, y: Any) -> np.ndarray:
        """Return each example's own cost row, of shape (n_samples, n_decisions).

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix([[0, 2], [5, 0]], labels=["a", "b"]).costs_for(["b", "a"])
        array([[5., 0.],
               [0., 2.]])
        """
        return self._values[encode_labels(y, self._known()[0])[1]]

    def normalized(self) -> "CostMatrix":
        """Shift each row so that its least cost is 0; no decision moves.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix([[-5, 0], [20, 2]]).normalized().values
        array([[ 0.,  5.],
               [18.,  0.]])
        """
        return CostMatrix(shift_rows(self._values), self._labels, self._decisions)

    def is_reasonable(self) -> bool:
        """Say whether right decisions are cheapest and no decision is always or never best."""
        return not self.complaints()

    def complaints(self) -> list[str]:
        """Return what is unreasonable about the matrix, in words; empty where nothing is.

        Two conditions, after Elkan (2001): for each truth the right decision costs no
        more than any wrong one, and no decision costs at least as much as another
        whatever the truth (it would never be worth taking). Where decisions are not the classes
        two more: each decision is the cheapest at some probabilities, and for each truth there
        are decisions that differ.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> for line in CostMatrix([[3, 1], [5, 0]], labels=["a", "b"]).complaints():
        ...     print(line)
        deciding 'b' when the truth is 'a' costs 1, less than deciding 'a' rightly (3)
        deciding 'a' costs at least as much as deciding 'b' whatever the truth, so it never pays
        """
        names, decisions = (list(map(str, axis)) for axis in self._known())
        return complaints(self._values, names, None if self.decides_classes else decisions)

    def equal_risk_point(self) -> np.ndarray | None:
        """Return the probabilities at which every decision has the same expected cost.

        Returns
        -------
        point : ndarray of shape (n_classes,) or None
            Sums to one; a negative entry says that the point lies outside the simplex.
            None where there is no such point, or where it is at infinity. Where a whole
            line (or more) of points qualifies, the one nearest to the centre of the
            simplex, and a `CostWarning`.

        Notes
        -----
        Property 2 of O'Brien, Gupta and Gray (2008).

        Examples
        --------
        With costs of 10 and 1000 both decisions cost the same at P(second) = 10 / 1010:

        >>> from stakes.costs import CostMatrix
        >>> CostMatrix([[0, 10], [1000, 0]]).equal_risk_point().round(4)
        array([0.9901, 0.0099])
        """
        self._check_square("equal_risk_point()")
        point, dimension = equal_risk_point(self._values)
        if dimension > 0:
            warn(
                "ST304",
                f"The equal risk points fill a space of dimension {dimension}; "
                "the one nearest to the centre of the simplex is returned.",
                CostWarning,
                stacklevel=2,
            )
        return point

    def threshold(self) -> float:
        """Return the probability of the second class from which deciding it is cheapest.

        Two classes only, all four costs. At 0 or below, the second class is always
        decided; above 1, never.

        Notes
        -----
        Equation (2) of O'Brien, Gupta and Gray (2008), c* of Elkan (2001).

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> CostMatrix.binary(fp=3, fn=1).threshold()
        0.75
        """
        self._check_square("threshold()")
        if self.n_classes != 2:
            raise ValueError(
                f"threshold() is for 2 classes, but this matrix has {self.n_classes}: "
                "use stakes.decision.ClassThresholds."
            )
        return binary_threshold(self._values)

    # -- converting ---------------------------------------------------------------------

    def align(self, classes: Any, *, encoded: bool = False) -> np.ndarray:
        """Return the values with rows and columns in the order of `classes`.

        A class that the matrix lacks is refused by name. A class of the matrix that `classes`
        lacks is left out; a `CostWarning` says so, unless it is a part of the data that lacks it.

        Parameters
        ----------
        classes : array-like of shape (n_classes,)
            The classes of `y`.
        encoded : bool, default=False
            Whether a meta-estimator may have chosen the rows and encoded the labels: `classes`
            may then lack some, and may be the numbers by which scikit-learn's `LabelEncoder`
            stands for the sorted labels.

        Examples
        --------
        >>> from stakes.costs import CostMatrix
        >>> C = CostMatrix([[0, 1], [9, 0]], labels=["no", "yes"])
        >>> C.align(["yes", "no"])
        array([[0., 9.],
               [1., 0.]])
        >>> C.align([0, 1], encoded=True)
        array([[0., 1.],
               [9., 0.]])
        """
        rows, columns, _ = self.places(classes, encoded=encoded)
        return self._values[np.ix_(rows, columns)]

    def places(
        self, classes: Any, *, decisions: Any = None, encoded: bool = False, stacklevel: int = 3
    ) -> tuple[list[int], list[int], tuple]:
        """Return where rows and columns for `classes` stand, and the decisions that these are.

        Parameters
        ----------
        classes, encoded
            As in `align`.
        decisions : tuple, default=None
            The decisions, where they are known already; a matrix of others is refused.
        stacklevel : int, default=3
            Of a warning.
        """
        rows = self._order(classes, encoded=encoded, stacklevel=stacklevel)
        classes = as_labels(classes)
        if self._decisions is None and decisions is None:
            return rows, rows, classes
        if self._decisions is None:
            named: tuple = self._labels or tuple(range(self.n_classes))
        else:
            named = self._decisions
        if self._labels is not None:
            own = {self._labels[row]: label for row, label in zip(rows, classes)}
            named = tuple(own.get(name, name) for name in named)
        elif self._decisions is None:
            named = classes
        return rows, *settle_columns(named, classes, decisions, name="cost_matrix")

    def _order(self, classes: Any, *, encoded: bool, stacklevel: int) -> list[int]:
        """Return where each class stands in this matrix."""
        classes = as_labels(classes)
        if self._labels is None:
            if self.n_classes != len(classes):
                raise ValueError(
                    f"cost_matrix has {self.n_classes} rows, one per true class, "
                    f"but y has {len(classes)} classes: {quoted(classes)}. Where y may lack a "
                    "class, give a CostMatrix with labels."
                )
            return list(range(self.n_classes))
        position = label_positions(self._labels, classes)
        missing = [c for c in classes if c not in position]
        if missing and encoded and _are_codes(classes, self.n_classes):
            position, missing = self._decode(classes), []
        unused = [label for i, label in enumerate(self._labels) if i not in position.values()]
        if missing:
            raise ValueError(
                "The labels of cost_matrix do not match the classes of y: it lacks "
                f"{quoted(missing)}, which y has"
                + (f", and it has {quoted(unused)}, which y lacks." if unused else ".")
                + self._turned(classes)
            )
        if unused and not encoded:
            left_out = "row and column are left out, and it is never decided"
            warn(
                "ST305",
                f"cost_matrix has {quoted(unused)}, which y lacks: its "
                f"{left_out if self.decides_classes else 'row is left out'}.",
                CostWarning,
                stacklevel=stacklevel + 1,
            )
        return [position[c] for c in classes]

    def _decode(self, classes: tuple) -> dict:
        """Return where the numbers of a label encoder stand in this matrix; say what is doubtful."""
        assert self._labels is not None
        ordered = sorted(self._labels, key=lambda label: (str(type(label)), label))
        if self.n_classes > 2 and set(classes) == {0, 1}:
            raise ValueError(
                f"y has only 0 and 1, but cost_matrix has {self.n_classes} labels: "
                f"{quoted(self._labels)}. If one class is told from the rest (OneVsRestClassifier), "
                "put the costs outside: CostDecisionClassifier(OneVsRestClassifier(...), "
                "cost_matrix=...); if a sample lacks a class, stratify or give y as it is."
            )
        if list(self._labels) != ordered:
            shown = ", ".join(f"{c!r} is {ordered[c]!r}" for c in classes)
            warn(
                "ST306",
                f"y has {quoted(classes)} in place of the labels of cost_matrix; they are taken for "
                f"what a label encoder makes of them: {shown}.",
                CostWarning,
                stacklevel=5,
            )
        return {c: self._labels.index(ordered[c]) for c in classes}

    def _turned(self, classes: tuple) -> str:
        """Return what to do where the columns are what the rows should be."""
        if self._decisions is None or not set(classes) <= set(self._decisions):
            return ""
        return (
            " Its columns are these classes: turn it round, or name decisions that way, in the "
            "first row."
        )

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with the axes named *true* and *predicted* (or *decided*)."""
        import pandas as pd

        rows, columns = map(list, self._known())
        return pd.DataFrame(
            self._values.copy(),
            index=pd.Index(rows, name="true"),
            columns=pd.Index(columns, name=self._column_axis),
        )

    def to_csv(self, path: str | os.PathLike | None = None) -> str | None:
        """Write the table that `from_csv` reads; return it as text where `path` is None.

        A label that a spreadsheet would run as a formula gets an apostrophe before it, which
        `from_csv` takes off.
        """
        frame = self.to_frame().rename(index=harmless, columns=harmless)
        text = frame.to_csv(index_label=self._corner)
        if path is None:
            return text
        write_atomically(path, text)
        return None

    @property
    def _column_axis(self) -> str:
        return "predicted" if self.decides_classes else "decided"

    @property
    def _corner(self) -> str:
        return f"true \\ {self._column_axis}"

    # -- printing -----------------------------------------------------------------------

    def __repr__(self) -> str:
        frame = self.to_frame().rename_axis(index=None, columns=self._corner)
        return "CostMatrix\n" + frame.to_string(float_format=describe)

    def _repr_html_(self) -> str:
        return self.to_frame().to_html(float_format=describe)

    # -- Python's protocols ---------------------------------------------------------------

    def _known(self) -> tuple[tuple, tuple]:
        """Return the names of rows and columns; the numbers of the classes where they have none."""
        rows = tuple(range(self.n_classes)) if self._labels is None else self._labels
        return rows, rows if self._decisions is None else self._decisions

    def _check_square(self, what: str) -> None:
        if not self.decides_classes:
            raise ValueError(
                f"{what} is for decisions that are the classes, but these are "
                f"{quoted(self._decisions or ())}."
            )

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype=dtype)

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            raise AttributeError("A CostMatrix is immutable; make a new one.")
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CostMatrix):
            return NotImplemented
        same_names = self._known() == other._known() and self._labels == other._labels
        return same_names and np.array_equal(self._values, other._values)

    def __hash__(self) -> int:
        return hash((self._labels, self._decisions, self._values.tobytes()))

    def __reduce__(self):
        return (CostMatrix, (np.array(self._values), *self._named_axes()))

    def with_names(self, labels: Any, decisions: Any = None) -> Any:
        """Return the same prices with other names."""
        made, (prices, *_) = self.__reduce__()
        return made(prices, labels, decisions)

    def _named_axes(self) -> list:
        """Return the labels and the decisions as lists, None where they have none."""
        return [
            None if names is None else list(names) for names in (self._labels, self._decisions)
        ]


def check_shape(shape: tuple, labels: Any, decisions: Any) -> None:
    """Refuse a table whose axes are not as long as they are named."""
    if len(shape) != 2:
        raise ValueError(
            "A cost matrix has 2 axes, one row per true class and one column per decision, but "
            f"this one has shape {shape}."
        )
    if shape[0] < 2 or shape[1] < 2:
        short = "classes" if shape[0] < 2 else "decisions"
        raise ValueError(f"A cost matrix needs at least 2 {short}, but this one has 1.")
    if decisions is None and shape[0] != shape[1]:
        raise ValueError(
            "A cost matrix is square, one row per true class and one column per decision, "
            f"but this one has shape {shape}. {name_decisions(shape)}"
        )
    for names, length, axis in ((labels, shape[0], "row"), (decisions, shape[1], "column")):
        if names is not None and len(as_labels(names)) != length:
            what = "labels" if axis == "row" else "decisions"
            raise ValueError(
                f"The matrix has {length} {axis}s, but {len(as_labels(names))} {what} were given."
            )


def name_decisions(shape: tuple) -> str:
    """Return the line that names the decisions of a plain table."""
    names = ", ".join(f'"name {i}"' for i in range(1, shape[1] + 1)) if shape[1] < 5 else "..."
    return (
        "Where decisions are not the classes, name them: CostMatrix(values, labels=[...], "
        f"decisions=[{names}])."
    )


def _index(label: Any, names: tuple, what: str) -> int:
    position = label_positions(names, (label,))
    if label not in position:
        raise KeyError(f"no {what} {label!r} in this cost matrix; it has {quoted(names)}")
    return position[label]


def _class_counts(y: Any) -> tuple[list, np.ndarray]:
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    return labels.tolist(), counts


def _are_codes(classes: tuple, n_classes: int) -> bool:
    """Say whether these can be the numbers of a label encoder."""
    return all(
        isinstance(c, int) and not isinstance(c, bool) and 0 <= c < n_classes for c in classes
    )

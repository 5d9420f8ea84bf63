"""The linear programme of the L1 linear SVM, solved again and again as its costs change."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# Exponents of two beyond which a scale is clipped: a bound of 2**±1000 is already 0 or
# infinite to the solver, and its reciprocal is still a number.
_EXPONENT_LIMIT = 1000

# What is asked of HiGHS. The matrix is scaled here, and a presolved model could not start
# from a basis. `threads` is left alone: HiGHS refuses to run where another user of it in
# the same process has asked for another number, and the simplex method uses one thread.
_OPTIONS: dict[str, Any] = {
    "output_flag": False,
    "presolve": "off",
    "solver": "simplex",
    "simplex_scale_strategy": 0,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}
# From this many examples and features on, the first solve is by the interior point method
# (then crossed over to a basis): eight times as fast on 2000 x 3000 sparse entries, and no
# slower at 2000 x 300. Below it the dual simplex method is faster.
_LARGE = 300

# Tried in turn, each on top of the last, should a solve end without a proof of optimality.
_RESCUES: tuple[dict[str, Any], ...] = (
    {},
    {"presolve": "on", "simplex_scale_strategy": 2},
    {"primal_feasibility_tolerance": 1e-7, "dual_feasibility_tolerance": 1e-7},
)


def l1_svm_objective(
    coef: np.ndarray, intercept: float, X: Any, signs: np.ndarray, costs: np.ndarray
) -> float:
    r"""Return the objective of LP (3) of Zhang and Street (2005) at a hyperplane.

    The slacks are the least feasible ones, so the value is attained whatever the
    hyperplane.

    Parameters
    ----------
    coef : ndarray of shape (n_features,)
        The weights of the features.
    intercept : float
        The offset.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Examples.
    signs : ndarray of shape (n_samples,)
        +1 or -1.
    costs : ndarray of shape (n_samples,)
        What a unit of slack costs for each example.

    Returns
    -------
    objective : float
        :math:`\sum_i \delta_i e_i + \sum_n |\alpha_n|`.

    Examples
    --------
    The second point lies on the hyperplane (slack 1, cost 3); the weights sum to 2:

    >>> import numpy as np
    >>> from stakes.bagging._lp import l1_svm_objective
    >>> X, signs = np.array([[1.0], [0.0]]), np.array([1.0, -1.0])
    >>> l1_svm_objective(np.array([2.0]), 0.0, X, signs, np.array([5.0, 3.0]))
    5.0
    """
    slack = np.maximum(0.0, 1.0 - signs * (X @ coef + intercept))  # e_i
    return float(costs @ slack + np.abs(coef).sum())  # eq. (3)


class LPSolution(NamedTuple):
    """A hyperplane, its objective, and the proof that there is no better one."""

    coef: np.ndarray
    intercept: float
    objective: float
    """The objective of LP (3) at the hyperplane."""
    dual_objective: float
    """The value of the dual: no hyperplane can go below it."""


class WarmLP:
    r"""LP (3) over fixed examples, whose costs may change from solve to solve.

    It is the dual that is kept, one bounded column per example and one row per feature,

    .. math:: \max_u \sum_i u_i \quad \text{s.t.} \quad
        \Big|\sum_i u_i y_i x_{in}\Big| \le 1, \quad \sum_i u_i y_i = 0, \quad
        0 \le u_i \le \delta_i ,

    (the equality only where there is an intercept). The costs are nothing but upper
    bounds there, so whatever basis was optimal stays dual feasible when they change, and
    the dual simplex method needs few steps from it. The hyperplane is read off the
    multipliers of the rows.

    Two changes of variables, both exact, let features of any size through. A dense
    feature is shifted by its midrange where there is an intercept to absorb the shift,
    and divided by a power of two, :math:`s_n`, so that it lies in [-1, 1]; its row is then
    bounded by :math:`1 / s_n` in place of 1, which is the l1 penalty in the new units. The
    costs are divided by a power of two near their mean, as are the bounds of the rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Examples.
    signs : ndarray of shape (n_samples,)
        +1 or -1.
    fit_intercept : bool, default=True
        Whether the hyperplane has an offset, which is not penalised.
    """

    _reference: Any = None  # the basis that every solve starts from, if any

    def __init__(self, X: Any, signs: np.ndarray, *, fit_intercept: bool = True):
        self.X = X
        self.signs = signs
        self.fit_intercept = fit_intercept
        n_samples, n_features = X.shape
        self._every_column = np.arange(n_samples, dtype=np.int32)
        self._every_row = np.arange(n_features + fit_intercept, dtype=np.int32)
        self._zeros = np.zeros(n_samples)
        columns, self._centre, self._exponents = _scaled(X, signs, fit_intercept)
        self._highs = _model(columns, n_rows=n_features + fit_intercept)
        self._restart()

    def set_reference(self, costs: np.ndarray) -> LPSolution:
        """Solve for `costs`, and let every later solve start from where this one ends.

        A solve is then a function of its own costs alone: the order of the solves, and
        how they are shared among workers, cannot change which of several optimal
        hyperplanes is found. Without a reference, a solve starts where the last one ended.
        """
        self._restart()
        solution = self.solve(costs)
        self._reference = self._highs.getBasis()
        return solution

    def solve(self, costs: np.ndarray) -> LPSolution:
        """Return the optimal hyperplane for `costs`, (n_samples,), none negative."""
        highs = self._highs
        exponent = _cost_exponent(costs)
        bounds = np.ldexp(1.0, _clipped(-self._exponents - exponent))
        if self.fit_intercept:
            bounds = np.append(bounds, 0.0)
        highs.changeColsBounds(
            len(self._zeros), self._every_column, self._zeros, np.ldexp(costs, -exponent)
        )
        highs.changeRowsBounds(len(bounds), self._every_row, -bounds, bounds)
        if self._reference is not None:
            highs.clearSolver()
            highs.setBasis(self._reference)
        highs.run()
        highs.setOptionValue("solver", _OPTIONS["solver"])
        if not self._is_optimal():
            self._rescue()

        # HiGHS minimises -sum(u): the multipliers of the rows are minus the hyperplane.
        multipliers = -np.array(highs.getSolution().row_dual)
        n_features = len(self._exponents)
        coef = np.ldexp(multipliers[:n_features], -self._exponents)
        coef += 0.0  # no negative zeros
        intercept = 0.0
        if self.fit_intercept:
            intercept = float(multipliers[n_features] - coef @ self._centre)
        objective = l1_svm_objective(coef, intercept, self.X, self.signs, costs)
        dual = float(np.ldexp(-highs.getInfo().objective_function_value, exponent))
        return LPSolution(coef, intercept, objective, dual)

    def _restart(self) -> None:
        """Forget every solution: the next solve is the first."""
        self._reference = None
        self._highs.clearSolver()
        self._highs.setOptionValue("solver", "ipm" if min(self.X.shape) >= _LARGE else "simplex")

    def _is_optimal(self) -> bool:
        import highspy

        return self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal

    def _rescue(self) -> None:
        """Solve from scratch, with more and more tolerant options; any finite data have a solution."""
        highs = self._highs
        for changes in _RESCUES:
            _set_options(highs, changes)
            highs.clearSolver()
            highs.run()
            if self._is_optimal():
                break
        _set_options(highs, _OPTIONS)
        if self._is_optimal():
            return
        status = highs.modelStatusToString(highs.getModelStatus())
        raise RuntimeError(
            f"HiGHS ended with {status!r} on the linear programme of the SVM: features or costs "
            "of very different sizes within one column make it ill-conditioned; scale them "
            "(sklearn.preprocessing.StandardScaler) and fit again."
        )


def _scaled(X, signs, fit_intercept: bool):
    """Return the columns of the dual (as CSR rows), the shift and the exponents of two."""
    centre = np.zeros(X.shape[1])
    if fit_intercept and not sparse.issparse(X):
        centre = X.min(axis=0) / 2 + X.max(axis=0) / 2
        X = X - centre
    columns = sparse.csr_array(X, copy=True)
    columns.sum_duplicates()
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, columns.indices, np.abs(columns.data))
    exponents = _clipped(np.frexp(largest)[1])  # largest / 2**e is in [0.5, 1), or e is 0
    of_each = np.repeat(signs, np.diff(columns.indptr))
    columns.data = of_each * np.ldexp(columns.data, -exponents[columns.indices])
    if fit_intercept:
        columns = sparse.hstack([columns, sparse.csr_array(signs[:, None])], format="csr")
    return columns, centre, exponents


def _clipped(exponents: np.ndarray) -> np.ndarray:
    return np.clip(exponents, -_EXPONENT_LIMIT, _EXPONENT_LIMIT)


def _cost_exponent(costs: np.ndarray) -> int:
    """Return e such that the mean positive cost is between ``2**(e-1)`` and ``2**e``."""
    n_positive = np.count_nonzero(costs)
    return int(np.frexp(costs.sum() / n_positive)[1]) if n_positive else 0


def _model(columns, n_rows: int):
    """Return a HiGHS model of the dual; its bounds are set before each solve."""
    import highspy

    n_columns = columns.shape[0]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n_columns, n_rows
    lp.col_cost_ = -np.ones(n_columns)
    lp.col_lower_ = lp.col_upper_ = np.zeros(n_columns)
    lp.row_lower_ = lp.row_upper_ = np.zeros(n_rows)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = columns.indptr.astype(np.int32)
    lp.a_matrix_.index_ = columns.indices.astype(np.int32)
    lp.a_matrix_.value_ = columns.data
    highs = highspy.Highs()
    _set_options(highs, _OPTIONS)
    highs.passModel(lp)
    return highs


def _set_options(highs: Any, options: dict[str, Any]) -> None:
    for option, value in options.items():
        highs.setOptionValue(option, value)

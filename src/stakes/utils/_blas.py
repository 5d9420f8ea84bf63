"""How many threads NumPy's and SciPy's linear algebra use."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return what controls the libraries, which are looked for once: that takes milliseconds."""
    import scipy.linalg  # noqa: F401  has a library of its own

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Use one thread for linear algebra.

    On small matrices two wait for each other longer than they work, most of all on a busy
    machine; and sums of several threads may differ in the last digit with their number.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.utils._blas import one_blas_thread
    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit

import numpy as np
from threadpoolctl import threadpool_info

from stakes.utils._blas import one_blas_thread


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def test_one_thread_inside_and_as_many_as_before_after():
    assert np.ones(2) @ np.ones(2) == 2
    with one_blas_thread():
        pass  # all libraries are loaded
    before = blas_threads()
    with one_blas_thread():
        assert set(blas_threads()) <= {1}
    assert blas_threads() == before

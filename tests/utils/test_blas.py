import sys
import threading
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

from stakes.compare import fit_model
from stakes.utils._blas import one_blas_thread, process_kept


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


def overlapping(*, work):
    """Run `work(wait)` in two threads: the first to come is the first to go."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        work(lambda: (first_in.set(), second_in.wait(10)))
        first_out.set()

    def second():
        first_in.wait(10)
        work(lambda: (second_in.set(), first_out.wait(10)))

    threads = [threading.Thread(target=one) for one in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_filters_of_warnings_are_as_before_once_both_threads_are_gone():
    before = list(warnings.filters)

    def work(wait):
        with process_kept(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="of this test alone")
            wait()

    overlapping(work=work)
    assert list(warnings.filters) == before


def test_threads_of_linear_algebra_are_as_before_once_both_threads_are_gone():
    with one_blas_thread():
        pass
    before, inside = blas_threads(), []

    def work(wait):
        with one_blas_thread():
            wait()
            inside.append(blas_threads())

    overlapping(work=work)
    assert all(set(numbers) <= {1} for numbers in inside)
    assert len(inside) == 2
    assert blas_threads() == before


def test_a_thread_on_its_own_changes_filters_as_it_likes():
    with warnings.catch_warnings():
        with process_kept():
            warnings.filterwarnings("ignore", message="set on purpose")
        assert warnings.filters[0][1].pattern == "set on purpose"


def test_sixteen_threads_decide_as_one_and_leave_the_process_as_it_was():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=200), "job": rng.choice(["cook", "smith"], 200)})
    y = (X["age"] + (X["job"] == "cook") + rng.normal(size=200) > 0.5).to_numpy(dtype=int)
    model = fit_model(X, y, "calibrated", cost_matrix=[[0, 1], [5, 0]])
    expected, wrong = model.decide(X), []
    threads_before, filters_before = blas_threads(), list(warnings.filters)

    def decide(seed):
        for row in np.random.default_rng(seed).integers(0, 200, size=8):
            found = model.decide(X.iloc[[row]])
            if not np.array_equal(found.to_numpy(), expected.iloc[[row]].to_numpy()):
                wrong.append(row)

    threads = [threading.Thread(target=decide, args=(seed,)) for seed in range(16)]
    switching = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # threads take turns in the middle of everything
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switching)
    assert wrong == []
    assert blas_threads() == threads_before
    assert list(warnings.filters) == filters_before

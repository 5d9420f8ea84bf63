"""One small cluster for all tests of a process."""

import warnings

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    """Two workers on this machine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        )
    with cluster, distributed.Client(cluster) as found:
        yield found


@pytest.fixture(scope="session")
def table():
    """Rows with gaps, categories and three classes."""
    rng = np.random.default_rng(0)
    n_samples = 3000
    X = rng.normal(size=(n_samples, 5)).round(2)
    X[:, 1] = rng.integers(0, 4, n_samples)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, [0, 2, 3]]) + rng.normal(size=(n_samples, 3))).argmax(axis=1)
    costs = rng.uniform(1, 9, (n_samples, 3))
    costs[np.arange(n_samples), y] = 0.0
    return X, y, costs, rng.integers(0, 4, n_samples).astype(float)


def _limit(limit, dask_worker):
    dask_worker.memory_manager.memory_limit = limit


@pytest.fixture
def limit_memory(client):
    """Set how many bytes each worker may use: they learn as if that mattered."""
    yield lambda limit: client.run(_limit, int(limit))
    client.run(_limit, None)

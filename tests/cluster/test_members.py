"""Members of reductions side by side on a cluster, through joblib."""

import joblib
from numpy.testing import assert_array_equal
from tests.cluster.test_trees import C

from stakes.reductions import CostingClassifier
from stakes.tree import CostTreeClassifier


def test_members_run_on_the_workers_and_are_the_same(client, table):
    X, y, *_ = table
    model = CostingClassifier(
        cost_matrix=C,
        estimator=CostTreeClassifier(max_depth=3),
        n_estimators=4,
        random_state=0,
        n_jobs=2,
    )
    alone = model.fit(X, y).predict(X)
    with joblib.parallel_backend("dask"):
        found = model.fit(X, y).predict(X)
    assert_array_equal(found, alone)

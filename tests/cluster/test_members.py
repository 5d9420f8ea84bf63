"""Reductions on a cluster: members side by side through joblib, or cost trees of all workers."""

import joblib
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests.cluster.test_trees import C, cut

from stakes.reductions import CostingClassifier, DataSpaceExpansionClassifier, GBSEClassifier
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


@pytest.mark.parametrize("by_class", [True, False])
@pytest.mark.parametrize("cls", [GBSEClassifier, DataSpaceExpansionClassifier])
def test_reductions_over_cost_trees_do_not_depend_on_the_partitions(client, table, cls, by_class):
    X, y, costs, _ = table
    X, y, costs = X[:1200], y[:1200], costs[:1200]
    model = cls(cost_matrix=C if by_class else None, n_estimators=4, random_state=0)
    alone = clone(model).fit(X, y, **({} if by_class else {"costs": costs}))
    found = []
    for sizes in ((500,), (0, 100, 700, 100)):
        more = {} if by_class else {"costs": cut(costs, *sizes)}
        found.append(clone(model).fit(cut(X, *sizes), cut(y, *sizes), **more))
        assert_array_equal(found[-1].n_samples_used_, alone.n_samples_used_)
        assert_array_equal(found[-1].predict(X), alone.predict(X))
        assert found[-1].n_features_in_ == X.shape[1]
    assert_array_equal(*(each.predict_proba(X) for each in found))
    if cls is GBSEClassifier:
        assert_allclose(found[0].training_costs_, alone.training_costs_)


def test_what_cannot_be_spread_is_refused(client, table):
    X, y, *_ = table
    with pytest.raises(TypeError, match="grows cost trees by weights alone; leave estimator"):
        GBSEClassifier(LogisticRegression()).fit(cut(X, 100), cut(y, 100))
    with pytest.raises(TypeError, match="learns in the memory of one machine"):
        CostingClassifier().fit(cut(X, 100), cut(y, 100))

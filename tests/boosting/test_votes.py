"""All trees in one pass decide as they do one by one."""

import numpy as np
import pandas as pd
import pytest

from stakes.boosting._votes import CHUNK, MOST_NODES, can_be_fused, count_votes
from stakes.boosting._weak import ConstantDecision, TreeLearner, add_up


def grown(n, n_classes=4, seed=0, missing=0.0, **options):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(5, size=n).astype(float),
            "c": pd.Categorical(rng.choice(list("uvwxyz"), n)),
        }
    )
    if missing:
        frame.loc[rng.random(n) < missing, "a"] = np.nan
    learner = TreeLearner({"max_depth": 3, **options}, n_threads=1)
    data = learner.fit_prepare(frame, "from_dtype")
    members = [
        learner.fit(data, rng.normal(size=(n, n_classes)), None, np.random.RandomState(0))[0]
        for _ in range(12)
    ]
    return learner, data, members, rng.uniform(0.1, 1, 12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "options", [{}, {"max_depth": 1}, {"max_depth": 5}, {"max_leaf_nodes": 6}]
)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_votes_are_those_of_the_trees_one_by_one(missing, options, n_threads):
    n = 2 * CHUNK + 17
    learner, data, members, weights = grown(n, missing=missing, **options)
    assert can_be_fused(members, 4)
    fused = count_votes(members, weights, data, 4, n_threads)
    assert (fused == add_up(learner, members, weights, data, 4)).all()


def test_large_trees_and_constants_vote_one_by_one():
    learner, data, members, weights = grown(500, max_depth=8)
    assert max(len(member.nodes) for member in members) > MOST_NODES
    assert not can_be_fused(members, 4)
    assert learner.scores(members, weights, data, 4).sum() == pytest.approx(500 * weights.sum())
    constant = [ConstantDecision(2, "c")]
    assert not can_be_fused(constant, 4)
    assert learner.scores(constant, [1.5], data, 4).tolist() == [[0, 0, 1.5, 0]] * 500

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.naive_bayes import CategoricalNB

from stakes.reproduce._bagged import (
    average_members,
    bayes_members,
    fitted_members,
    member_counts,
)


def some_codes(seed=0, n=60):
    rng = np.random.RandomState(seed)
    codes = np.column_stack([rng.randint(3, size=n), rng.randint(5, size=n)])
    labels = (codes.sum(axis=1) + rng.randint(3, size=n)) % 4
    labels[0] = 4  # a class of one example: most members lack it
    return codes, labels


def test_members_draw_as_many_examples_as_there_are():
    counts = member_counts(50, 7, np.random.RandomState(0))

    assert counts.shape == (7, 50)
    assert_array_equal(counts.sum(axis=1), 50)
    assert len({tuple(row) for row in counts.tolist()}) == 7


@pytest.mark.parametrize("n_members", [3, 60])  # in one part and in several
def test_all_members_at_once_are_those_of_scikit_learn_one_by_one(n_members):
    codes, labels = some_codes()
    counts = member_counts(len(labels), n_members, np.random.RandomState(1))
    model = CategoricalNB(min_categories=codes.max(axis=0) + 1)

    at_once = np.concatenate(list(bayes_members(codes, labels, 5, counts)))
    one_by_one = np.concatenate(list(fitted_members(model, codes, labels, 5, counts)))

    assert_allclose(at_once, one_by_one, atol=1e-12)


def test_out_of_bag_mean_leaves_out_the_members_that_drew_the_example():
    # Two members, two examples, two classes. Example 0 was drawn by member 0 alone; example 1
    # by both, so its mean is over all.
    counts = np.array([[1, 1], [0, 2]])
    proba = np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]])

    inclusive, out_of_bag = average_members(iter([proba[:1], proba[1:]]), counts)

    assert_allclose(inclusive, [[0.6, 0.4], [0.3, 0.7]])
    assert_allclose(out_of_bag, [[0.2, 0.8], [0.3, 0.7]])

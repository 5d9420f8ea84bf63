"""A function made of steps does what they do, and calls none of them."""

import pytest

from stakes.tree import _kernels, _search_kernels
from stakes.tree._steps import compose, step

SCALE = 3


@step
def scaled(x):
    return SCALE * x


@step
def total_of(values, first):
    total = first
    for value in values:
        total += scaled(value)
    return total


@step
def note(kept, value):
    x = value + 1  # the caller has an x of its own
    kept.append(x)


@step
def is_large(x):
    x = abs(x)
    return x > 10


@step
def early(x):
    if x > 0:
        return 1
    return 2


def made_of_steps(values, kept):
    x = 1
    total = total_of(values, scaled(x))
    if is_large(total):
        note(kept, total)
    elif is_large(x):
        note(kept, -1)
    x, twice = total_of(values, x), scaled(total) + scaled(x)  # written into the tuple
    return total, x, twice


def test_a_composed_function_does_what_its_steps_do():
    def run(values, kept):
        x = 1
        total = total_of(values, scaled(x))
        if is_large(total):
            note(kept, total)
        elif is_large(x):
            note(kept, -1)
        return total, x, scaled(total) + scaled(x)

    composed = compose(run, number=7)
    assert not {"total_of", "scaled", "note", "is_large"} & set(composed.__code__.co_names)
    for values in ([], [1, 2], [5, -1, 7]):
        kept, same = [], []
        # 3 + 3 * sum; kept if above 10: 3 + 9 = 12 -> 13; 3 + 33 = 36 -> 37
        assert composed(values, same) == run(values, kept)
        assert kept == same
    assert same == [37]


def calls_early(x):
    y = early(x)
    return y


def calls_inside(x):
    return 1 + is_large(x)


def loops_on(x):
    while is_large(x):
        x -= 1
    return x


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (calls_early, "early returns before its end"),
        (calls_inside, "is_large is called inside an expression"),
        (made_of_steps, "total_of is called inside an expression"),
        (loops_on, "is_large cannot be the condition of a loop"),
    ],
)
def test_what_cannot_be_written_out_is_refused(function, message):
    with pytest.raises(ValueError, match=message):
        compose(function)


def test_another_step_can_take_the_place_of_one():
    def run(x):
        return scaled(x)

    @step
    def doubled(y):
        return 2 * y

    assert compose(run)(5) == 15
    assert compose(run, {"scaled": doubled})(5) == 10


def test_the_kernels_call_no_step():
    searches = [
        getattr(_search_kernels, f"search_{name}") for name in ("two", "few", "many", "sets")
    ]
    for kernel in (_kernels.advance, *searches):
        names = kernel.py_func.__code__.co_names
        known = kernel.py_func.__globals__
        assert not [name for name in names if getattr(known.get(name), "is_step", False)]

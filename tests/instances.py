"""An instance of every estimator, for tests that run over all of them."""

import inspect

from sklearn.linear_model import LogisticRegression

# Small settings, so that the checks stay quick; they change no behaviour that is checked.
QUICK = {"n_estimators": 6, "max_iter": 200, "cv": 3, "members": ["linear", "gaussian"]}


def make_instance(cls, quick=QUICK):
    parameters = inspect.signature(cls).parameters
    given = {name: value for name, value in quick.items() if name in parameters}
    first = next(iter(parameters.values()), None)
    if first is not None and first.name == "estimator" and first.default is first.empty:
        given["estimator"] = LogisticRegression()
    return cls(**given)

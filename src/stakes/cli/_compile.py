"""stakes compile: the kernels of all methods, ahead of the first fit."""

import time
from typing import Any

from stakes.cli._app import command
from stakes.cli._terminal import say, show
from stakes.utils._arrays import counted

ROWS = 240
# Of which a tree keeps histograms.
MANY_ROWS = 1_000


@command
def compile() -> None:
    """Compile what is compiled at the first fit, such as in an image: it is kept on disk.

    For example:
      stakes compile
    """
    import warnings

    import numpy as np
    import pandas as pd

    from stakes.compare import UnfitMethodError, fit_model, list_methods
    from stakes.tree import CostTreeClassifier

    rng = np.random.default_rng(0)
    many = rng.normal(size=(MANY_ROWS, 2))
    CostTreeClassifier(max_depth=1).fit(many, many[:, 0] > 0)
    y = np.arange(ROWS) % 3
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)) + y[:, None], columns=["a", "b", "c"])
    X["d"] = pd.Categorical(np.array(["x", "y", "z"])[rng.permutation(y)])
    prices = 1.0 + 8.0 * rng.random((3, 3)) * (1 - np.eye(3))
    kinds: dict[str, Any] = {
        "class": {"cost_matrix": prices},
        "hindsight": {"costs": prices[y] * rng.uniform(1, 2, (ROWS, 1))},
    }
    start, done, failed = time.monotonic(), 0, []
    for name, method in list_methods().iterrows():
        if method["family"] in ("default", "bagging", "example"):
            continue  # nothing of ours is compiled for them alone
        for kind in sorted(set(method["costs"]) & set(kinds)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model = fit_model(X, y, name, **kinds[kind])
                    model.predict(X)
                except UnfitMethodError:
                    continue
                except Exception as error:  # the others are compiled all the same
                    failed.append(f"{name} with {kind} costs ({type(error).__name__}: {error})")
                    continue
            done += 1
        say(f"{name}: {time.monotonic() - start:.0f} s")
    if failed:
        raise ValueError(f"Not compiled, for a fit failed: {'; '.join(failed)}")
    show(f"Compiled by {counted(done, 'fit')}, and kept for every later one.")

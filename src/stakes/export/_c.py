"""A small tree as C: nothing to install where it runs."""

import ctypes
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from stakes import __version__
from stakes.export._source import Source
from stakes.export._verify import (
    ExportRefused,
    NotExportable,
    Said,
    Verification,
    compare_said,
    draw_rows,
    rows_at_questions,
)
from stakes.tree import CostTreeClassifier
from stakes.tree.engine import Questions
from stakes.utils._files import write_atomically

MOST_LEAVES = 200
N_TRIED = 500
NOT_RUN = "not run: there was no C compiler"


def to_c(model: Any, path: str | os.PathLike | None = None, *, random_state: int = 0) -> str:
    """Write a small cost tree as a function of C, verified by running it.

    ``stakes_decide(x, costs)`` returns the position of the decision and fills in what each is
    expected to cost. It is compiled and run beside the model where there is a compiler (``cc``); the
    code says so.

    Parameters
    ----------
    model : CostTreeClassifier or DecisionModel
        Fitted on numbers, with at most 200 leaves.
    path : path-like, default=None
        Where to; such as ``tree.c``. None writes no file.
    random_state : int, default=0
        Draws the rows that are tried.

    Returns
    -------
    source : str
        The code.

    Examples
    --------
    >>> from stakes.export import to_c
    >>> from stakes.tree import CostTreeClassifier
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 5], [1, 0]], labels=["bad", "ok"])
    >>> X, y = [[1], [2], [3], [4], [3], [4]], ["ok", "ok", "ok", "ok", "bad", "bad"]
    >>> tree = CostTreeClassifier(C, min_samples_leaf=2).fit(X, y)
    >>> print(to_c(tree).partition("int stakes_decide")[2])
    (const double *x, double *c) {
        if (x[0] <= 2.5) {
            c[0] = 1.0; c[1] = 0.0; return 1;
        } else {
            c[0] = 0.5; c[1] = 2.5; return 0;
        }
    }
    <BLANKLINE>
    """
    source = Source(model)
    tree = source.estimator
    if not isinstance(tree, CostTreeClassifier):
        raise NotExportable(
            f"{type(tree).__name__} has no export to C: it is for CostTreeClassifier; use to_onnx."
        )
    prepares = source.preparation is not None and source.preparation.prepared_ is not None
    if prepares or tree.bins_.is_categorical.any() or source.policy.states != tree._stated():
        raise NotExportable(
            "An export to C takes numbers alone, and decides at the prices of training, but the "
            "table has categories, or the model was adapted: use to_onnx."
        )
    if tree.tree_.n_leaves > MOST_LEAVES:
        raise NotExportable(
            f"The tree has {tree.tree_.n_leaves} leaves: C is for up to {MOST_LEAVES}; use to_onnx."
        )
    text, asked = _code(source, tree.tree_), tree.tree_.questions()
    rng = np.random.default_rng(random_state)
    drawn = draw_rows(source.known_values(), N_TRIED, rng)
    at = rows_at_questions([({f: f for f in range(len(drawn))}, asked)], drawn, rng)
    columns = [np.concatenate(parts) for parts in zip(drawn, at)]
    theirs = _run(text, np.column_stack(columns), len(source.decisions))
    if theirs is None:
        text = text.replace("verified by running it", NOT_RUN)
    else:
        scale = max(float(np.abs(source.prices).max()), 1e-300)
        compare_said(source.said(source.frame(columns)), theirs, scale, Verification(0, 0))
    if path is not None:
        write_atomically(path, text)
    return text


def _code(source: Source, tree: Any) -> str:
    names = source.schema.names or [f"x{i}" for i in range(len(source.schema.kinds))]
    labels = ", ".join(f"{i} {_shown([label])}" for i, label in enumerate(source.decisions))
    lines = _lines(tree.questions(), tree.values, tree.decisions)
    return (
        f"/*\n * Written by stakes {__version__} and verified by running it.\n * x: {_shown(names)}\n"
        f" * decisions: {labels}\n */\n#include <math.h>\n"
        "int stakes_decide(const double *x, double *c) {\n" + "\n".join(lines) + "\n}\n"
    )


def _lines(asked: Questions, values: np.ndarray, decisions: np.ndarray) -> list[str]:
    """Return the questions of a tree, one in the other."""
    lines: list[str] = []

    def write(node: int, depth: int) -> None:
        indent, leaf = "    " * depth, asked.leaf[node]
        if leaf >= 0:
            costs = " ".join(f"c[{d}] = {float(v)!r};" for d, v in enumerate(values[leaf]))
            lines.append(f"{indent}{costs} return {int(decisions[leaf])};")
            return
        x, cut = f"x[{asked.feature[node]}]", float(asked.threshold[node])
        shown = ("-INFINITY" if cut < 0 else "INFINITY") if np.isinf(cut) else repr(cut)
        missing = f" || isnan({x})" if asked.missing_left[node] else ""
        lines.append(f"{indent}if ({x} <= {shown}{missing}) {{")
        write(int(asked.left[node]), depth + 1)
        lines.append(indent + "} else {")
        write(int(asked.right[node]), depth + 1)
        lines.append(indent + "}")

    write(0, 1)
    return lines


def _shown(names: Iterable) -> str:
    """Return names for a comment, which none of them can end: they come from data and files."""
    shown = ", ".join(ascii(str(name)) for name in names)
    return shown.replace("*/", "* /").replace("/*", "/ *")


def _run(text: str, X: np.ndarray, n_decisions: int) -> Said | None:
    """Compile and run the code on rows; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "tree.c", Path(folder) / "tree.so"
        code.write_text(text)
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(code), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ExportRefused(f"Not exported: the C code does not compile: {done.stderr[:200]}")
        decide = ctypes.CDLL(str(library)).stakes_decide
        pointer = ctypes.POINTER(ctypes.c_double)
        costs = np.empty((len(X), n_decisions))
        rows = np.ascontiguousarray(X, dtype=np.float64)
        decision = [
            decide(row.ctypes.data_as(pointer), cost.ctypes.data_as(pointer))
            for row, cost in zip(rows, costs)
        ]
    return Said(np.array(decision), expected=costs)

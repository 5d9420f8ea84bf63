"""A small tree as source code of Python or C: nothing to install where it runs."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from stakes import __version__
from stakes.export._layer import NotExportable
from stakes.export._source import Source
from stakes.export._verify import (
    ExportRefused,
    Said,
    Verification,
    compare_said,
    draw_rows,
    rows_at_questions,
)
from stakes.tree import CostForestClassifier, CostTreeClassifier
from stakes.utils._files import write_atomically
from stakes.utils._optional import import_optional

MOST_LEAVES = 200
N_TRIED = 500


def to_source(
    model: Any,
    path: str | os.PathLike | None = None,
    *,
    language: str = "python",
    random_state: int = 0,
) -> str:
    """Write a small cost tree as source code, verified by running it.

    Parameters
    ----------
    model : CostTreeClassifier or DecisionModel
        Fitted on numbers, with at most 200 leaves.
    path : path-like, default=None
        Where to; such as ``tree.py`` or ``tree.c``. None writes no file.
    language : {"python", "c"}, default="python"
        Python: ``decide(x)`` returns the label and the expected costs. C: ``stakes_decide(x,
        costs)`` returns the position of the label and fills in the expected costs; it is run at
        export where there is a compiler (``cc``), and says so.
    random_state : int, default=0
        Draws the rows that are tried.

    Returns
    -------
    source : str
        The code.

    Examples
    --------
    >>> from stakes.export import to_source
    >>> from stakes.tree import CostTreeClassifier
    >>> X, y = [[1], [2], [3], [4], [3], [4]], ["ok", "ok", "ok", "ok", "bad", "bad"]
    >>> tree = CostTreeClassifier([[0, 5], [1, 0]], min_samples_leaf=2).fit(X, y)
    >>> print(to_source(tree).partition("def decide")[2])
    (x):
        if x[0] <= 2.5:
            return 'ok', (1.0, 0.0)
        else:
            return 'bad', (0.5, 2.5)
    <BLANKLINE>
    """
    if language not in ("python", "c"):
        raise ValueError(f"There is no source in {language!r}: choose python or c.")
    source = Source(model)
    tree = _numbers_tree(source, (CostTreeClassifier,), "source code")
    if tree.tree_.n_leaves > MOST_LEAVES:
        raise NotExportable(
            f"The tree has {tree.tree_.n_leaves} leaves: source code is for up to {MOST_LEAVES}; "
            "use to_onnx."
        )
    text = _python(source, tree) if language == "python" else _c(source, tree)
    X = tried_rows(source, tree, random_state)
    ran = True
    if language == "python":
        theirs = _run_python(text, source, X)
    else:
        found = _run_c(text, source, X)
        ran, theirs = found is not None, found if found is not None else _said(source, X)
    check_said(source, X, theirs)
    if not ran:
        text = text.replace("verified by running it", "not run: there was no C compiler")
    if path is not None:
        write_atomically(path, text)
    return text


def _numbers_tree(source: Source, kinds: tuple, what: str) -> Any:
    """Return the tree or forest, whose features must be the numbers of the table."""
    if not isinstance(source.estimator, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise NotExportable(
            f"{type(source.estimator).__name__} has no export to {what}: it is for {names}."
        )
    prepares = source.preparation is not None and source.preparation.vectorizer_ is not None
    if prepares or source.estimator.bins_.is_categorical.any():
        raise NotExportable(
            f"An export to {what} takes numbers alone, but the table has categories: use to_onnx."
        )
    return source.estimator


def tried_rows(source: Source, model: Any, random_state: int) -> np.ndarray:
    """Return rows to try: drawn ones, and at every question."""
    rng = np.random.default_rng(random_state)
    drawn = draw_rows(source.known_values(), N_TRIED, rng)
    identity = {f: f for f in range(model.n_features_in_)}
    asked = [(identity, tree.questions()) for tree in model._trees]
    at = rows_at_questions(asked, drawn, rng)
    return np.column_stack([np.concatenate(parts) for parts in zip(drawn, at)])


def _said(source: Source, X: np.ndarray) -> Said:
    if source.model is not None and source.schema.names is not None:
        return source.said(source.frame(list(X.T)))
    return source.said(X)


def check_said(source: Source, X: np.ndarray, theirs: Said) -> Verification:
    """Compare what an export says of rows with what the model says; refuse what differs."""
    found = Verification(len(X), 0)
    scale = max(float(np.abs(source.cost_matrix).max()), 1e-300)
    compare_said(_said(source, X), theirs, scale, found)
    return found


def _walk(tree: Any, leaf: Any, question: Any, otherwise: str, end: str) -> str:
    """Return nested questions as text: `leaf(position)`, `question(feature, cut, missing)`."""
    asked = tree.questions()
    lines: list[str] = []

    def write(node: int, depth: int) -> None:
        indent = "    " * depth
        if asked.leaf[node] >= 0:
            lines.append(indent + leaf(int(asked.leaf[node])))
            return
        here = (int(asked.feature[node]), float(asked.threshold[node]), asked.missing_left[node])
        lines.append(indent + question(*here))
        write(int(asked.left[node]), depth + 1)
        lines.append(indent + otherwise)
        write(int(asked.right[node]), depth + 1)
        if end:
            lines.append(indent + end)

    write(0, 1)
    return "\n".join(lines)


def _about(source: Source) -> list[str]:
    names = source.schema.names or [f"x{i}" for i in range(len(source.schema.kinds))]
    return [f"Written by stakes {__version__} and verified by running it.", f"x: {_shown(names)}"]


def _shown(names: Iterable) -> str:
    """Return names for a comment, which none of them can end: they come from data and files."""
    shown = ", ".join(ascii(str(name)) for name in names)
    return shown.replace("*/", "* /").replace("/*", "/ *")


def _python(source: Source, model: Any) -> str:
    tree, labels = model.tree_, source.labels

    def leaf(i: int) -> str:
        costs = ", ".join(repr(float(v)) for v in tree.values[i])
        return f"return {labels[int(tree.decisions[i])]!r}, ({costs})"

    def question(feature: int, cut: float, missing: bool) -> str:
        shown = f'float("{cut}")' if np.isinf(cut) else repr(cut)
        also = f" or x[{feature}] != x[{feature}]" if missing else ""
        return f"if x[{feature}] <= {shown}{also}:"

    head = "\n".join(f"# {line}" for line in _about(source))
    body = _walk(tree, leaf, question, "else:", "")
    return f"{head}\ndef decide(x):\n{body}\n"


def _c(source: Source, model: Any) -> str:
    tree, labels = model.tree_, source.labels

    def leaf(i: int) -> str:
        fill = " ".join(f"c[{k}] = {float(v)!r};" for k, v in enumerate(tree.values[i]))
        return f"{fill} return {int(tree.decisions[i])};"

    def question(feature: int, cut: float, missing: bool) -> str:
        shown = ("-INFINITY" if cut < 0 else "INFINITY") if np.isinf(cut) else repr(cut)
        also = f" || isnan(x[{feature}])" if missing else ""
        return f"if (x[{feature}] <= {shown}{also}) {{"

    head = "\n".join(f" * {line}" for line in _about(source))
    shown = ", ".join(f"{i} {_shown([label])}" for i, label in enumerate(labels))
    body = _walk(tree, leaf, question, "} else {", "}")
    return (
        f"/*\n{head}\n * decisions: {shown}\n */\n#include <math.h>\n"
        f"int stakes_decide(const double *x, double *c) {{\n{body}\n}}\n"
    )


def _run_python(text: str, source: Source, X: np.ndarray) -> Said:
    space: dict[str, Any] = {}
    exec(compile(text, "tree", "exec"), space)
    found = [space["decide"](row) for row in X.tolist()]
    places = {label: i for i, label in enumerate(source.labels)}
    decision = np.array([places[label] for label, _ in found])
    return Said(decision, expected=np.array([costs for _, costs in found]))


def _run_c(text: str, source: Source, X: np.ndarray) -> Said | None:
    """Compile and run the code on rows; None where there is no compiler."""
    import ctypes

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
        decide.restype = ctypes.c_int
        pointer = ctypes.POINTER(ctypes.c_double)
        X = np.ascontiguousarray(X, dtype=np.float64)
        costs = np.empty((len(X), len(source.labels)))
        decision = [
            decide(row.ctypes.data_as(pointer), cost.ctypes.data_as(pointer))
            for row, cost in zip(X, costs)
        ]
    return Said(np.array(decision), expected=costs)


# -- treelite ---------------------------------------------------------------------------------


def to_treelite(
    model: Any, path: str | os.PathLike | None = None, *, random_state: int = 0
) -> Any:
    """Return a cost tree or forest as a model of treelite, verified; its answers are expected costs.

    The decision is the one of least expected cost: ``treelite.gtil.predict(model, X).argmin(-1)``.

    Parameters
    ----------
    model : CostTreeClassifier, CostForestClassifier or DecisionModel
        Fitted on numbers.
    path : path-like, default=None
        Where to write treelite's checkpoint. None writes no file.
    random_state : int, default=0
        Draws the rows that are tried.

    Returns
    -------
    model : treelite.Model
        With `float64` thresholds and leaves.
    """
    treelite: Any = import_optional("treelite", extra="export", purpose="to_treelite")
    builder_of: Any = import_optional(
        "treelite.model_builder", extra="export", purpose="to_treelite"
    )
    source = Source(model)
    forest = _numbers_tree(source, (CostTreeClassifier, CostForestClassifier), "treelite")
    if getattr(forest, "calibration_", None) is not None:
        raise NotExportable(
            "A calibrated forest has no export to treelite, which adds up leaves: fit it with "
            "calibration=None, or use to_onnx."
        )
    n_classes, trees = len(source.labels), forest._trees
    builder = builder_of.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder_of.Metadata(
            num_feature=forest.n_features_in_,
            task_type="kMultiClf",
            average_tree_output=True,
            num_target=1,
            num_class=[n_classes],
            leaf_vector_shape=(1, n_classes),
        ),
        tree_annotation=builder_of.TreeAnnotation(
            num_tree=len(trees), target_id=[0] * len(trees), class_id=[-1] * len(trees)
        ),
        postprocessor=builder_of.PostProcessorFunc("identity_multiclass"),
        base_scores=[0.0] * n_classes,
    )
    for tree in trees:
        asked, values = tree.questions(), tree.values
        builder.start_tree()
        for node in range(len(asked.leaf)):
            builder.start_node(node)
            if asked.leaf[node] >= 0:
                builder.leaf(values[asked.leaf[node]].tolist())
            else:
                builder.numerical_test(
                    feature_id=int(asked.feature[node]),
                    threshold=float(asked.threshold[node]),
                    default_left=bool(asked.missing_left[node]),
                    opname="<=",
                    left_child_key=int(asked.left[node]),
                    right_child_key=int(asked.right[node]),
                )
            builder.end_node()
        builder.end_tree()
    made = builder.commit()
    X = tried_rows(source, forest, random_state)
    expected = np.asarray(treelite.gtil.predict(made, X)).reshape(len(X), n_classes)
    check_said(source, X, Said(expected.argmin(axis=1), expected=expected))
    if path is not None:
        write_atomically(path, made.serialize_bytes())
    return made

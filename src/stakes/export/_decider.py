"""Reading a graph of `to_onnx`: onnxruntime decides, and nothing of the model is needed."""

import json
from typing import Any

import numpy as np

from stakes.export._graph import import_onnx
from stakes.export._prices import PRICE_COLUMNS
from stakes.export._tables import Schema
from stakes.export._verify import ExportRefused
from stakes.utils._arrays import columns_by_name, finite_array
from stakes.utils._frames import as_frame, index_of
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import num_samples

PRICES = "prices"
METADATA = "stakes"
FORMAT, OLD_FORMAT = "stakes-onnx-2", "stakes-onnx-1"


def open_session(data: bytes) -> Any:
    """Return a session of onnxruntime that runs a graph."""
    ort = import_optional("onnxruntime", extra="export", purpose="An export to ONNX")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExportRefused(f"Not exported: onnxruntime cannot read the graph: {error}") from error


class OnnxDecider:
    """Decides tables with a file of `to_onnx`: it needs onnxruntime and nothing of the model.

    Parameters
    ----------
    data : bytes or path-like
        The file, or what `to_onnx` returned.

    Attributes
    ----------
    about : dict
        What the file says of itself: classes, decisions, columns, versions, the report of the check.

    Examples
    --------
    >>> from stakes.export import OnnxDecider, to_onnx
    >>> from stakes.decision import ConstantDecisionClassifier
    >>> from stakes.costs import CostMatrix
    >>> C = CostMatrix([[0, 20], [1, 0]], labels=["ill", "ok"])
    >>> model = ConstantDecisionClassifier(C).fit([[0]] * 4, ["ill"] + ["ok"] * 3)
    >>> decider = OnnxDecider(to_onnx(model))
    >>> decider.decide([[7.0]])["decision"].tolist(), decider.about["decisions"]
    (['ill'], ['ill', 'ok'])
    """

    def __init__(self, data: Any):
        if not isinstance(data, bytes):
            with open(data, "rb") as file:
                data = file.read()
        self._session = open_session(data)
        self.about = _about(self._session.get_modelmeta().custom_metadata_map)
        self._schema = Schema(*(self.about[key] for key in ("order", "kinds", "whole")))

    def decide(self, X: Any, *, cost_tensor: Any = None) -> Any:
        """Return the decision for each row, and what it will cost where the model knows it.

        Parameters
        ----------
        X : DataFrame or array-like
            As the model was fitted on; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_decisions), default=None
            The prices of these rows; an abstention keeps its own.

        Returns
        -------
        table : DataFrame
            As `DecisionModel.decide` returns it.
        """
        import pandas as pd

        answer = self.run(X, cost_tensor=cost_tensor)
        shown = ("decision", "expected_cost", "next_best", "next_best_cost")
        columns = {name: answer[name] for name in shown if name in answer}
        return pd.DataFrame(columns, index=index_of(X))

    def run(self, X: Any, *, cost_tensor: Any = None) -> dict[str, np.ndarray]:
        """Return every output of the graph by name; the parameters are those of `decide`."""
        X = np.asarray(X, dtype=np.float64) if isinstance(X, (list, tuple)) else as_frame(X)
        feeds = self._schema.feeds(X)
        if self.about["prices"] == "columns":
            given = columns_by_name(X, self.about["price_columns"])
            feeds[PRICE_COLUMNS] = finite_array(given, name="The table of prices", of="price")
        if cost_tensor is not None:
            if self.about["prices"] not in ("taken", "needed"):
                raise ValueError("The file takes no prices of single rows: leave them out.")
            feeds[PRICES] = self._checked(cost_tensor, num_samples(X))
        elif self.about["prices"] == "needed":
            raise ValueError("The model decides by the prices of each row: give cost_tensor.")
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._session.run(names, feeds)))

    def _checked(self, cost_tensor: Any, n_rows: int) -> np.ndarray:
        """Return prices of rows as the graph takes them, or say what is wrong with them."""
        given = finite_array(cost_tensor, name="cost_tensor")
        inputs = [*self._session.get_inputs(), *self._session.get_overridable_initializers()]
        (shape,) = (i.shape for i in inputs if i.name == PRICES)
        n_classes, n_decisions = shape[1:]
        if given.shape != (n_rows, n_classes, n_decisions):
            raise ValueError(
                f"cost_tensor has shape {given.shape}, but ({n_rows}, {n_classes}, {n_decisions}) "
                "was expected: for each row [true, decided]."
            )
        return given


def about_onnx(data: bytes) -> dict:
    """Return what a file of `to_onnx` says of itself, without running it."""
    return _about(
        {entry.key: entry.value for entry in import_onnx().load_from_string(data).metadata_props}
    )


def _about(metadata: dict) -> dict:
    """Return what a graph says of itself, in the words of this version."""
    about = json.loads(metadata.get(METADATA, "{}"))
    if about.get("format") == OLD_FORMAT:
        labels = about["labels"]
        about |= {"classes": labels[: len(about["cost_matrix"])], "decisions": labels}
    elif about.get("format") != FORMAT:
        raise ValueError(
            f"This ONNX file is none of stakes, or of a newer one: it does not name the format {FORMAT!r}. "
            "Write it again with to_onnx, or update stakes."
        )
    return about

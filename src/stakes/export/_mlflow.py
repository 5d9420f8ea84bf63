"""A model in MLflow: a pyfunc that returns decision, expected cost and runner-up."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from stakes.compare import (
    DecisionModel,
    load_model,
    model_versions,
    requirements_of,
    save_model,
)
from stakes.export._verify import NotExportable
from stakes.utils._files import new_folder


def to_mlflow(model: DecisionModel, path: str | os.PathLike) -> None:
    """Save a model as a pyfunc of MLflow, with an inferred signature and nothing pickled.

    ``mlflow.pyfunc.load_model(path).predict(table)`` returns the table of `DecisionModel.decide`:
    decision, and where the method knows it expected cost, next best decision and its cost. Where
    only the estimator is wanted, MLflow's own scikit-learn flavour takes it as it is.

    Parameters
    ----------
    model : DecisionModel
        Fitted by `fit_model`, with class costs or costs known in hindsight.
    path : path-like
        A folder that does not exist yet.
    """
    try:
        import mlflow.pyfunc
        from mlflow.models import ModelSignature, infer_signature
    except ModuleNotFoundError as error:
        raise ImportError(
            "to_mlflow needs mlflow, which is not installed: pip install mlflow-skinny"
        ) from error
    if not isinstance(model, DecisionModel):
        raise TypeError("to_mlflow takes what fit_model returns.")
    if model.kind == "deciding":
        raise NotExportable(
            "The model decides by the prices of each row, for which a pyfunc has no place: use "
            "to_onnx."
        )
    if os.path.lexists(path):
        raise FileExistsError(f"{path} is there already: name a folder that is not.")
    example, inputs = _example_of(model)
    outputs = infer_signature(model_output=model.answer(example).table()).outputs
    with tempfile.TemporaryDirectory() as room, new_folder(path) as folder:
        file = Path(room) / "model.skops"
        save_model(model, file)
        mlflow.pyfunc.save_model(
            path=str(folder),
            loader_module=__name__,
            data_path=str(file),
            signature=ModelSignature(inputs, outputs),
            pip_requirements=requirements_of(model_versions(model)),
        )


def _example_of(model: DecisionModel) -> tuple[Any, Any]:
    """Return two rows as the model takes them, and the columns as MLflow is to check them: by name.

    By type it would refuse whole numbers where there were others, and categories of pandas: the
    very table that the model was fitted on. The model reads columns itself.
    """
    from mlflow.types import ColSpec, Schema, TensorSpec
    from mlflow.types.schema import AnyType

    if model.columns is None:
        n_features = model.estimator.n_features_in_
        tensor = TensorSpec(np.dtype(np.float64), (-1, n_features))
        return np.zeros((2, n_features)), Schema([tensor])
    import pandas as pd

    known: dict[str, Any] = {
        "date": pd.to_datetime(["2000-01-01"] * 2),
        "boolean": [False, True],
        "category": ["", ""],
        "text": ["", ""],
        "identifier": [None, None],  # numbers or text
    }
    kinds = {profile.name: profile.kind for profile in model.profiles}
    columns = {name: known.get(kinds.get(name, ""), np.zeros(2)) for name in model.columns}
    specs: list[ColSpec | TensorSpec] = [
        ColSpec(AnyType(), name, required=False) for name in model.columns
    ]
    return pd.DataFrame(columns), Schema(specs)


class _Decider:
    """What MLflow asks."""

    def __init__(self, model: DecisionModel):
        self.model = model

    def predict(self, model_input: Any, params: Any = None) -> Any:
        """Return decisions and what they will cost."""
        return self.model.decide(model_input)


def _load_pyfunc(path: str) -> _Decider:
    """Return the model in a folder of MLflow; called by MLflow."""
    return _Decider(load_model(path))

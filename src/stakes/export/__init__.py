"""Taking the decision elsewhere: files that decide as the model does, verified when they are made."""

from stakes.export._json import decide_layer, reader_source, to_json
from stakes.export._layer import NotExportable
from stakes.export._mlflow import to_mlflow
from stakes.export._onnx import OnnxDecider, to_onnx
from stakes.export._source_code import to_source, to_treelite
from stakes.export._sql import to_sql
from stakes.export._verify import ExportRefused

__all__ = [
    "ExportRefused",
    "NotExportable",
    "OnnxDecider",
    "decide_layer",
    "reader_source",
    "to_json",
    "to_mlflow",
    "to_onnx",
    "to_source",
    "to_sql",
    "to_treelite",
]

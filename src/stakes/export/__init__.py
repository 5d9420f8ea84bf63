"""Taking the decision elsewhere: files that decide as the model does, verified when they are made."""

from stakes.export._c import to_c
from stakes.export._decider import OnnxDecider, about_onnx
from stakes.export._json import from_json, reader_source, to_json
from stakes.export._mlflow import to_mlflow
from stakes.export._onnx import to_onnx
from stakes.export._sql import to_sql
from stakes.export._verify import ExportRefused, NotExportable

__all__ = [
    "ExportRefused",
    "NotExportable",
    "OnnxDecider",
    "about_onnx",
    "from_json",
    "reader_source",
    "to_c",
    "to_json",
    "to_mlflow",
    "to_onnx",
    "to_sql",
]

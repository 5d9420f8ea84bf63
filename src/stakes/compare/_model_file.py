"""Models as files: written whole, and read without running anything that is in them."""

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np

from stakes.compare._model import DecisionModel
from stakes.compare._trusted import is_trusted
from stakes.compare.runner import one_sentence
from stakes.utils._arrays import quoted
from stakes.utils._files import write_atomically
from stakes.utils._optional import import_optional

FORMAT = "stakes-model-2"
# A file may not unpack to more than this: a few kilobytes can pretend to be terabytes.
MAX_UNPACKED = 8_000_000_000


def save_model(model: DecisionModel, path: str | os.PathLike) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    model : DecisionModel
        Fitted by `fit_model`.
    path : path-like
        Where to; such as ``model.skops``.
    """
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    content = {
        "format": FORMAT,
        "meta": json.dumps(
            {
                "method": model.method,
                "classes": model.classes,
                "kind": model.kind,
                "columns": model.columns,
                "takes_labels": model.takes_labels,
                "info": model.info,
            }
        ),
        "cost_matrix": np.asarray(model.cost_matrix, dtype=np.float64),
        "estimator": model.estimator,
        "preparation": model.preparation,
    }
    data = sio.dumps(content, compression=zipfile.ZIP_DEFLATED)
    strange = untrusted_types(data)
    if strange:
        raise ValueError(
            f"The model holds {quoted(strange)}, which a model file may not: only methods of this "
            "library and what they are made of can be saved."
        )
    write_atomically(path, data)


def load_model(path: str | os.PathLike) -> DecisionModel:
    """Read a model that `save_model` wrote; anything else is refused by name.

    The file says of what types its objects are. They are checked before any of them is made: a
    file that holds a type which no model of ours needs is refused, and nothing in it runs.

    Parameters
    ----------
    path : path-like
        The file.
    """
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    path = Path(path)
    data = path.read_bytes()
    _check_archive(path, data)
    try:
        strange = untrusted_types(data)
    except Exception as error:
        raise ValueError(f"{path} is not a model file: {one_sentence(error)}") from None
    if strange:
        raise ValueError(
            f"{path} is refused, and nothing in it was run: it holds {quoted(strange)}, which no "
            "model of this library needs."
        )
    try:
        found = sio.loads(data, trusted=sorted(set(sio.get_untrusted_types(data=data))))
    except Exception as error:
        raise ValueError(f"{path} cannot be read as a model: {one_sentence(error)}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"{path} is not a model that stakes has saved.")
    meta = json.loads(found["meta"])
    parts = {name: found[name] for name in ("cost_matrix", "estimator", "preparation")}
    return DecisionModel(**meta, **parts)


def untrusted_types(data: bytes) -> list[str]:
    """Return the types in a model file that it may not hold."""
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    return sorted(name for name in set(sio.get_untrusted_types(data=data)) if not is_trusted(name))


def _check_archive(path: Path, data: bytes) -> None:
    if not zipfile.is_zipfile(io.BytesIO(data)):
        kind = " (it looks like a pickle, which could run anything)" if _is_pickle(data) else ""
        raise ValueError(f"{path} is not a model file{kind}.")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(item.file_size for item in archive.infolist())
        if "schema.json" not in archive.namelist():
            raise ValueError(f"{path} is an archive, but not a model file.")
    if size > MAX_UNPACKED:
        raise ValueError(f"{path} would unpack to {size / 1e9:.0f} GB: it is refused.")


def _is_pickle(data: bytes) -> bool:
    return data[:1] == b"\x80" or data[:2] in (b"c_", b"(d", b"(l", b"cp", b"co", b"cb")

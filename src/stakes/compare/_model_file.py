"""Models as files: written whole, and read without running anything that is in them."""

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from stakes.compare._archive import (
    FORMAT,
    check_format,
    check_signature,
    read_about,
    seal,
    unseal,
)
from stakes.compare._model import DecisionModel
from stakes.compare._native import check_part, exchange, pack, unpack
from stakes.compare._needs import install_line, missing_packages, packages_of, versions_of
from stakes.compare._trusted import is_trusted
from stakes.compare.runner import one_sentence
from stakes.tables import ColumnProfile
from stakes.utils._arrays import quoted
from stakes.utils._files import write_atomically
from stakes.utils._optional import import_optional

# What is kept as objects and arrays; everything else but the profiles is plain values in JSON.
PARTS = ("estimator", "policy", "preparation", "reference", "adapted")
META = tuple(f.name for f in fields(DecisionModel) if f.name not in (*PARTS, "profiles", "source"))


def save_model(
    model: DecisionModel, path: str | os.PathLike, *, key: bytes | str | None = None
) -> None:
    """Write a model, whole or not at all; the same model gives the same bytes.

    Parameters
    ----------
    model : DecisionModel
        Fitted by `fit_model`.
    path : path-like
        Where to; such as ``model.skops``.
    key : bytes or str, default=None
        A secret that signs the file (HMAC-SHA256): who loads it with the same key knows that
        somebody who has the key wrote it, and that nobody has changed it since.
    """
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    content = {
        "format": FORMAT,
        "meta": json.dumps(
            {
                **{name: getattr(model, name) for name in META},
                "profiles": [profile.to_dict() for profile in model.profiles],
            }
        ),
        **{name: getattr(model, name) for name in PARTS},
    }
    versions = model_versions(model)
    content = {name: exchange(part, pack) for name, part in content.items()}
    data = sio.dumps(content)
    strange = untrusted_types(data)
    if strange:
        raise ValueError(
            f"The model holds {quoted(strange)}, which a model file may not: only methods of this "
            "library and what they are made of can be saved."
        )
    write_atomically(path, seal(data, {"format": FORMAT, "versions": versions}, key))


def model_versions(model: DecisionModel) -> dict[str, str]:
    """Return what a model needs to decide: Python, stakes and each package whose types it holds.

    Parameters
    ----------
    model : DecisionModel
        Fitted.
    """
    types: set[type] = set()

    def note(part: Any) -> Any:
        types.add(type(part))
        return part

    exchange([getattr(model, name) for name in PARTS], note)
    return versions_of(packages_of(types))


def load_model(path: str | os.PathLike, *, key: bytes | str | None = None) -> DecisionModel:
    """Read a model that `save_model` wrote; anything else is refused by name.

    The file carries a checksum, so that a damaged one is refused. It says of what types its
    objects are: a file that holds a type which no model of ours needs is refused before any of
    them is made, and nothing in it runs. What was made is then checked: trees whose nodes lead
    nowhere, tables of other sizes than they claim, and the like are refused, too. What it needs and
    is not installed is named.

    Parameters
    ----------
    path : path-like
        The file.
    key : bytes or str, default=None
        The file must have been signed with it; None asks for no signature.
    """
    import_optional("skops.io", extra="export", purpose="A model file")
    path = Path(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is not a file.")
    data = path.read_bytes()
    try:
        return _read(data, str(path), key)
    except MissingPackages as error:
        raise ImportError(f"{path} {error}") from None
    except Refused as error:
        raise ValueError(f"{path} is refused, and nothing in it was run: {error}.") from None
    except Exception as error:  # a file can go wrong in as many ways as there are files
        raise ValueError(f"{path} cannot be read as a model: {one_sentence(error)}") from None


class Refused(ValueError):
    """A file that holds what no model needs."""


class MissingPackages(ImportError):
    """A file that holds what comes from packages that are not installed."""


def _read(data: bytes, source: str, key: bytes | str | None = None) -> DecisionModel:
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    if key is not None:
        check_signature(data, key)
    data = unseal(data)
    check_format(data)
    named = sio.get_untrusted_types(data=data)
    missing = missing_packages(named)
    if missing:
        versions = read_about(data).get("versions", {})
        verb = "is" if len(missing) == 1 else "are"
        raise MissingPackages(
            f"needs {' and '.join(missing)}, which {verb} not installed: "
            f"{install_line(missing, versions if isinstance(versions, dict) else {})}"
        )
    strange = [name for name in named if not is_trusted(name)]
    if strange:
        raise Refused(f"it holds {quoted(strange)}, which no model of this library needs")
    content = sio.loads(data, trusted=named)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError("it is not a model that stakes has saved")
    content = exchange(exchange(content, unpack), check_part)
    meta = json.loads(content["meta"])
    meta["profiles"] = [ColumnProfile.from_dict(profile) for profile in meta["profiles"]]
    model = DecisionModel(**meta, **{name: content[name] for name in PARTS}, source=source)
    model.check()
    return model


def untrusted_types(data: bytes) -> list[str]:
    """Return the types in a model file that it may not hold."""
    sio = import_optional("skops.io", extra="export", purpose="A model file")
    return sorted(name for name in set(sio.get_untrusted_types(data=data)) if not is_trusted(name))

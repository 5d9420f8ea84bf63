"""The archive of a model file: sealed with a checksum, unpacked within limits, its plan looked over.

What is in a file is read in this order, each step before the next one sees a byte of it: the
checksum and the signature, the sizes, the headers of arrays, the plan (``schema.json``) of what is
to be made.
"""

import hashlib
import hmac
import io
import json
import re
import zipfile
from typing import Any

import numpy as np

from stakes.costs import CostMatrix, UncertainCostMatrix
from stakes.utils._arrays import quoted

FORMAT = "stakes-model-5"
PLAN, ABOUT = "schema.json", "about.json"
SEAL, SIGNATURE = b"sha256:", b"hmac-sha256:"
DIGITS = 64
# A file may unpack to so many times its own size; real models stay below 40. Small files are not
# worth the arithmetic, and no file may unpack to more than the last.
RATIO, ALWAYS, NEVER = 100, 20_000_000, 4_000_000_000
# Objects that the plan may speak of, for each byte of the file and in any case; real models have
# up to one for 15 bytes. An object takes some hundred bytes in memory.
OBJECTS_PER_BYTE, FEW_OBJECTS = 0.5, 300_000
# How skops makes objects: those of its ways that models need.
WAYS = frozenset(
    f"{way}Node"
    for way in (
        "Bytearray", "Bytes", "ConstructorFromReduce", "DType", "DefaultDict", "Dict", "Function",
        "Json", "List", "Loss", "NdArray", "Object", "RandomGenerator", "RandomState", "Set",
        "Slice", "SparseMatrix", "Tuple", "Type",
    )
)  # fmt: skip
# What may be made by calling its type: of ours only tables of costs, which check what they get.
CALLED = (
    "builtins.range",
    "pandas.RangeIndex",
    "pandas.core.indexes.range.RangeIndex",
    *(f"{kind.__module__}.{kind.__name__}" for kind in (CostMatrix, UncertainCostMatrix)),
)


def seal(data: bytes, about: dict, key: bytes | str | None = None) -> bytes:
    """Return a skops archive with a shorter plan, and the checksum of everything at its end.

    Parameters
    ----------
    data : bytes
        As skops writes it. The same model gives the same bytes: skops calls objects and files by
        places in memory, here they are counted.
    about : dict
        What can be read without making anything: the format, versions.
    key : bytes or str, default=None
        Signs the file.
    """
    members = _members(data)
    plan = json.loads(members.pop(PLAN))
    files: dict[str, str] = {}
    _renumber(plan, {}, files)
    content = {new: members[old] for old, new in files.items()}
    for name in content:
        if name.endswith(".npz"):  # an archive in the archive, with the time of day
            content[name] = _packed(_members(content[name]))
    content[PLAN] = json.dumps(
        plan, separators=(",", ":")
    ).encode()  # skops writes it with indents
    content[ABOUT] = json.dumps(about, separators=(",", ":")).encode()
    comment = SEAL + b"0" * DIGITS
    if key is not None:
        comment = SIGNATURE + b"0" * DIGITS + comment
    return reseal(_packed(content, comment), key)


def _packed(members: dict[str, bytes], comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        archive.comment = comment
    return out.getvalue()


def _renumber(node: Any, ids: dict[int, int], files: dict[str, str]) -> None:
    """Count the objects and files of a plan in the order in which it speaks of them."""
    if isinstance(node, list):
        for child in node:
            _renumber(child, ids, files)
    elif isinstance(node, dict):
        if "__id__" in node:
            node["__id__"] = ids.setdefault(node["__id__"], len(ids) + 1)
        if "__loader__" in node and "file" in node:
            ending = node["file"].rpartition(".")[2]
            node["file"] = files.setdefault(node["file"], f"{len(files) + 1}.{ending}")
        for child in node.values():
            _renumber(child, ids, files)


def reseal(data: bytes, key: bytes | str | None = None) -> bytes:
    """Return a sealed archive with the checksum of what is in it, signed anew if there is a key."""
    if key is not None:
        before = data[: -len(SEAL) - 2 * DIGITS]
        data = before + _signature(before, key) + data[-len(SEAL) - DIGITS :]
    return data[:-DIGITS] + hashlib.sha256(data[:-DIGITS]).hexdigest().encode()


def _signature(data: bytes, key: bytes | str) -> bytes:
    secret = key.encode() if isinstance(key, str) else key
    if not isinstance(secret, bytes) or not secret:
        raise ValueError("key should be bytes or text, and not empty.")
    return hmac.new(secret, data, hashlib.sha256).hexdigest().encode()


def check_signature(data: bytes, key: bytes | str) -> None:
    """Refuse a file that was not signed with this key, or was changed afterwards."""
    end = -len(SEAL) - 2 * DIGITS
    if not data[:end].endswith(SIGNATURE):
        raise ValueError("it is not signed, and a key was given")
    if not hmac.compare_digest(data[end : end + DIGITS], _signature(data[:end], key)):
        raise ValueError("it was not signed with this key, or has been changed since")


def read_about(data: bytes) -> dict:
    """Return what a file says about itself, nothing of which is to be believed; empty where it is mute."""
    about = json.loads(_members(data).get(ABOUT, b"{}"))
    return about if isinstance(about, dict) else {}


def format_of(data: bytes) -> str:
    """Return the format that a file says it is in, or ""; up to format 4 only its plan says it."""
    about = read_about(data).get("format")
    if isinstance(about, str):
        return about
    said = re.search(rb"stakes-model-\d+", _members(data).get(PLAN, b""))
    return "" if said is None else said[0].decode()


def check_format(data: bytes) -> None:
    """Refuse a file that is in another format, or in none."""
    written = format_of(data)
    if written != FORMAT:
        raise ValueError(
            f"it is in the format {written}, and this version of stakes reads {FORMAT}: fit the model "
            "again, or load it with the version that saved it"
            if written
            else "it is not a model file that stakes has saved"
        )


def unseal(data: bytes) -> bytes:
    """Return what skops reads, of a file that is whole; anything else is refused."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        kind = " (it looks like a pickle, which could run anything)" if _is_pickle(data) else ""
        raise ValueError(f"it is not a model file{kind}")
    if not data[-DIGITS - len(SEAL) :].startswith(SEAL):
        check_format(data)  # the first had no checksum
        raise ValueError("it has no checksum: it was cut short, or changed by hand")
    if reseal(data) != data:
        raise ValueError("it is damaged: its content does not fit its checksum")
    members = _members(data)
    if PLAN not in members:
        raise ValueError("it is an archive, but not a model file")
    _check_plan(members, len(data))
    for name, content in members.items():
        if name.endswith(".npy"):
            check_array_file(content)
        elif name.endswith(".npz"):
            for inner in _members(content, len(data)).values():
                check_array_file(inner)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as plain:
        for name, content in members.items():
            plain.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def _members(data: bytes, n_bytes: int | None = None) -> dict[str, bytes]:
    """Return the content of an archive by name, never more than a file of this size may hold."""
    n_bytes = len(data) if n_bytes is None else n_bytes
    left = min(NEVER, max(ALWAYS, RATIO * n_bytes))
    contents: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for item in archive.infolist():
            if item.filename in contents:
                raise ValueError(f"it holds {quoted([item.filename])} twice")
            if item.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("it is packed in a way that model files are not")
            with archive.open(item) as content:
                contents[item.filename] = content.read(left + 1)
            left -= len(contents[item.filename])
            if left < 0:
                raise ValueError(
                    f"it would unpack to more than {RATIO} times its size, which no model does"
                )
    return contents


def check_array_file(content: bytes) -> None:
    """Refuse an array that claims to be of another size than it is, before room is made for it."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    reads = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in reads:
        raise ValueError("it holds an array in a form that model files do not have")
    shape, _, dtype = reads[version](stream)
    n_bytes = dtype.itemsize
    for side in shape:
        n_bytes *= side
    if dtype.hasobject or n_bytes != len(content) - stream.tell() or min(shape, default=0) < 0:
        raise ValueError("it holds an array that is not of the size that it claims")


def _check_plan(members: dict[str, bytes], n_bytes: int) -> None:
    """Refuse a plan that speaks of too much, of files that are not there, or of odd ways."""
    raw = members[PLAN]
    most = max(FEW_OBJECTS, int(OBJECTS_PER_BYTE * n_bytes))
    if raw.count(b"{") + raw.count(b"[") > most:
        raise ValueError("it speaks of more objects than a model of its size has")
    _count(json.loads(raw), members, {}, most)


def _count(node: Any, members: dict, known: dict, most: int) -> int:
    """Return how many objects a node stands for, itself and those that it repeats included.

    skops looks at an object as often as it is mentioned: a few mentions of mentions of mentions
    would keep it busy for ever.
    """
    if isinstance(node, list):
        total = sum(_count(child, members, known, most) for child in node)
    elif not isinstance(node, dict):
        return 0
    else:
        _check_node(node, members)
        key = node.get("__id__")
        if key is not None and key in known:
            return known[key]
        if key is not None:
            known[key] = most  # until it is known; an object inside itself is too much
        total = 1 + sum(_count(child, members, known, most) for child in node.values())
        if key is not None:
            known[key] = total
    if total > most:
        raise ValueError("it speaks of more objects than a model of its size has")
    return total


def _check_node(node: dict, members: dict) -> None:
    way = node.get("__loader__")
    if way is None:
        return
    if way not in WAYS:
        raise ValueError(f"it wants an object to be made as {quoted([way])}, which no model needs")
    name = f"{node.get('__module__')}.{node.get('__class__')}"
    if way == "ConstructorFromReduceNode" and name not in CALLED:
        raise ValueError(f"it wants {quoted([name])} to be called, which no model needs")
    if "file" in node and node["file"] not in members:
        raise ValueError(f"it lacks its part {quoted([node['file']])}")


def _is_pickle(data: bytes) -> bool:
    return data[:1] == b"\x80" or data[:2] in (b"c_", b"(d", b"(l", b"cp", b"co", b"cb")

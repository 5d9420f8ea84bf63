"""Small grey images as data, so that the page needs no other file."""

import base64
import struct
import zlib
from typing import Any

import numpy as np


def image_uri(pixels: Any, shape: tuple[int, int]) -> str:
    """Return an image as a `data:` address; the largest value is drawn darkest.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.report._images import image_uri
    >>> image_uri(np.array([0.0, 1.0]), (1, 2))[:22]
    'data:image/png;base64,'
    """
    grid = np.asarray(pixels, dtype=float).reshape(shape)
    low, high = np.nanmin(grid), np.nanmax(grid)
    grey = 255 - np.nan_to_num((grid - low) / ((high - low) or 1.0) * 255)
    rows = np.column_stack([np.zeros(shape[0]), grey]).astype(np.uint8).tobytes()
    header = struct.pack(">IIBBBBB", shape[1], shape[0], 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

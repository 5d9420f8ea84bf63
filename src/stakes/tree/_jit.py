"""How the kernels of trees are compiled.

``error_model="numpy"``: divisions by zero give infinities, as in NumPy; a check would keep loops
from being vector code.
"""

import hashlib
from pathlib import Path

import numba

from stakes.utils._jit import cached_jit

jit = cached_jit(error_model="numpy")
# For what kernels are made of: to hand over all arrays at each call would cost more than the work.
step = numba.njit(error_model="numpy", nogil=True, forceinline=True)

part_of = numba.njit(error_model="numpy", nogil=True, inline="always")


def _fingerprint() -> int:
    files = sorted(Path(__file__).parent.glob("_*kernels.py"))
    text = b"".join(path.read_bytes() for path in (*files, Path(__file__)))
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")


# Numba's cache looks at the file of a function, not at the files of those that it calls. What calls
# across files has this as the default of its last argument, which is part of what it is kept under.
SOURCES = _fingerprint()

"""How the kernels are compiled: every decorator, and the one private option of Numba.

``error_model="numpy"``: divisions by zero give infinities, as in NumPy; a check would keep loops
from being vector code. ``nogil``: threads may run other kernels meanwhile.

``_nrt=False`` is private to Numba. It compiles a function without its runtime, which counts the
references to every array: Numba raises and lowers an atomic counter for each array that a call
looks at, which costs small nodes more than their sums, and makes threads wait for each other. A
function that allocates nothing needs no counts; one that does fails to compile with the option.
If a release of Numba drops it, ``jit = allocating_jit`` gives the same trees, more slowly.
"""

import hashlib
from pathlib import Path
from typing import Any

import numba as nb
from numba import extending

# For functions that write their own machine code; they are called with other arguments than they
# are defined with.
intrinsic: Any = extending.intrinsic

# For functions that allocate nothing.
jit = nb.njit(nogil=True, error_model="numpy", _nrt=False)  # type: ignore[call-overload]
# For the steps of a loop, each of which is called in one place and looks at many arrays: to hand
# those over would cost small nodes more than the step.
inlined_jit = nb.njit(  # type: ignore[call-overload]
    nogil=True, error_model="numpy", _nrt=False, inline="always"
)
# For functions that allocate.
allocating_jit = nb.njit(nogil=True, error_model="numpy")
# For functions that share their loops (`nb.prange`) among threads.
parallel_jit = nb.njit(nogil=True, error_model="numpy", parallel=True)
# For functions that Python calls, compiled once for all processes.
cached_jit = nb.njit(nogil=True, cache=True)


def fingerprint() -> int:
    """Return a number that changes with the source of the kernels.

    Numba's cache looks at the file of the cached function and at what it encloses, not at the
    files of the functions that it calls: a cached function that calls across files encloses this.
    """
    folder = Path(__file__).parent
    sources = [*sorted(folder.glob("_*kernels.py")), folder / "_columns.py", folder / "_jit.py"]
    text = b"".join(path.read_bytes() for path in sources)
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")

"""How the kernels are compiled: every decorator, and the one private option of Numba.

``error_model="numpy"``: divisions by zero give infinities, as in NumPy; a check would keep loops
from being vector code. ``nogil``: threads may run other kernels meanwhile.

``_nrt=False`` is private to Numba. It compiles a function without its runtime, which counts the
references to every array: Numba raises and lowers an atomic counter for each array that a call
looks at, which costs small nodes more than their sums, and makes threads wait for each other. A
function that allocates nothing needs no counts; one that does fails to compile with the option.
If a release of Numba drops it, the same trees grow without it, more slowly.
"""

import hashlib
from pathlib import Path
from typing import Any

from numba import extending

from stakes.utils._jit import LoopsCompiler
from stakes.utils._jit import cached_jit as keep

# For functions that write their own machine code; they are called with other arguments than they
# are defined with.
intrinsic: Any = extending.intrinsic

# For functions that Python calls and that allocate nothing, compiled once for all processes.
kept_jit = keep(error_model="numpy", _nrt=False, pipeline_class=LoopsCompiler)
# For functions that Python calls, compiled once for all processes.
cached_jit = keep(pipeline_class=LoopsCompiler)


def fingerprint() -> int:
    """Return a number that changes with the source of the kernels.

    Numba's cache looks at the file of the cached function and at what it encloses, not at the
    files of the functions that it calls: a cached function that calls across files encloses this.
    """
    folder = Path(__file__).parent
    sources = [
        *sorted(folder.glob("_*kernels.py")),
        *(folder / f"_{name}.py" for name in ("columns", "jit", "steps")),
    ]
    text = b"".join(path.read_bytes() for path in sources)
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")

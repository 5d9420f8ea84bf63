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

from numba import extending, typeof, types
from numba.core import cgutils

from stakes.utils._jit import LoopsCompiler
from stakes.utils._jit import cached_jit as keep

# For functions that write their own machine code; they are called with other arguments than they
# are defined with.
intrinsic: Any = extending.intrinsic

# For functions that Python calls and that allocate nothing, compiled once for all processes.
kept_jit = keep(error_model="numpy", _nrt=False, pipeline_class=LoopsCompiler)
# For functions that Python calls, compiled once for all processes.
cached_jit = keep(pipeline_class=LoopsCompiler)


@intrinsic
def call_at(typingctx, address, given):
    """Call the compiled function at an address, given a tuple of its arguments.

    It returns nothing, and stays a function of its own: neither is compiled again with the other.
    """

    def codegen(context, builder, signature, args):
        returned, taken = types.none, signature.args[1].types
        function = context.call_conv.get_function_type(returned, taken).as_pointer()
        place = builder.inttoptr(args[0], function)
        values = cgutils.unpack_tuple(builder, args[1])
        status, _ = context.call_conv.call_function(builder, place, returned, taken, values)
        with builder.if_then(status.is_error, likely=False):  # an index out of bounds, if checked
            context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(address, given), codegen


def address_of(function: Any, *given: Any) -> int:
    """Return where a kernel is that takes arguments like these; it is compiled if need be."""
    signature = tuple(map(typeof, given))
    function.compile(signature)
    found = function.overloads[signature]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


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

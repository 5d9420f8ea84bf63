"""Building a graph of ONNX: operators by name, arrays as constants, branches.

Numbers are float64 throughout, as in the models: what ONNX's usual converters round to float32
moves decisions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes.utils._optional import import_optional

OPSET = 17
ML_OPSET = 3
IR_VERSION = 8
ML = "ai.onnx.ml"


def import_onnx() -> Any:
    """Return onnx, or say how to install it."""
    return import_optional("onnx", extra="export", purpose="An export to ONNX")


class Graph:
    """A graph that is being built; names of tensors stand for the tensors."""

    def __init__(self) -> None:
        self._onnx = import_onnx()
        self._helper = self._onnx.helper
        self.nodes: list[Any] = []
        self.constants: dict[Any, Any] = {}
        self.inputs: list[Any] = []
        self.defaults: list[Any] = []
        self.outputs: list[Any] = []
        self._count = 0
        # For a check of every question: the trees, and which columns their features are.
        self.asked: list[tuple[dict[int, int], Any]] = []
        self._origins: dict[str, dict[int, int]] = {}

    # -- what goes in and out ------------------------------------------------------------------

    def input(self, name: str, kind: type, shape: list, default: np.ndarray | None = None) -> str:
        """Add an input; one with a default need not be given."""
        self.inputs.append(self._info(name, kind, shape))
        if default is not None:
            self.defaults.append(self.tensor(default, name))
        return name

    def output(self, name: str, tensor: str, kind: type, shape: list) -> None:
        """Make a tensor an output, under this name."""
        self.nodes.append(self._helper.make_node("Identity", [tensor], [name], name=name))
        self.outputs.append(self._info(name, kind, shape))

    def _info(self, name: str, kind: type, shape: list) -> Any:
        types = {float: "DOUBLE", int: "INT64", str: "STRING", bool: "BOOL"}
        kind_of = getattr(self._onnx.TensorProto, types[kind])
        return self._helper.make_tensor_value_info(name, kind_of, shape)

    # -- operators ---------------------------------------------------------------------------

    def constant(self, value: Any, kind: type | None = None) -> str:
        """Return a constant array; equal ones are kept once."""
        array = np.asarray(value, dtype=kind)
        if array.dtype.kind == "f":  # coefficients may have 32 bits; the graph has 64
            array = array.astype(np.float64)
        elif array.dtype.kind in "iu":
            array = array.astype(np.int64)
        elif array.dtype.kind in "UO":
            array = array.astype(object)
        raw = repr(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
        key = (array.dtype.str, array.shape, raw)
        if key not in self.constants:
            self.constants[key] = self.tensor(array, f"c{len(self.constants)}")
        return self.constants[key].name

    def tensor(self, array: np.ndarray, name: str) -> Any:
        """Return an array as ONNX keeps it, for an attribute."""
        return self._onnx.numpy_helper.from_array(array, name)

    def op(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> str:
        """Add an operator; arrays and numbers among its inputs become constants."""
        return self.ops(kind, 1, *inputs, domain=domain, **attributes)[0]

    def ops(
        self, kind: str, n_outputs: int, *inputs: Any, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add an operator of several outputs."""
        names = [x if isinstance(x, str) else self.constant(x) for x in inputs]
        self._count += 1
        outputs = [f"t{self._count}_{i}" for i in range(n_outputs)]
        self.nodes.append(
            self._helper.make_node(kind, names, outputs, outputs[0], domain=domain, **attributes)
        )
        return outputs

    def cast(self, x: str, to: type) -> str:
        """Return x as float (64 bits), int or bool."""
        proto = self._onnx.TensorProto
        kinds: dict[Any, int] = {float: proto.DOUBLE, int: proto.INT64, bool: proto.BOOL}
        return self.op("Cast", x, to=kinds[to])

    def as_float32(self, x: str) -> str:
        """Return x rounded to 32 bits, in 64."""
        rounded = self.op("Cast", x, to=self._onnx.TensorProto.FLOAT)
        return self.comes_from(self.cast(rounded, float), self.origin(x))

    def comes_from(self, x: str, columns: dict[int, int]) -> str:
        """Remember which columns of the table the columns of x are, -1 for none; return x."""
        self._origins[x] = columns
        return x

    def origin(self, x: str) -> dict[int, int]:
        """Return which columns of the table the columns of x are, as far as it is known."""
        return self._origins.get(x, {})

    def concat(self, parts: list[str], axis: int = 1) -> str:
        """Join tensors; one alone is itself."""
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=axis)

    def sum(self, x: str, axis: int = 1, keep: bool = True) -> str:
        """Sum along an axis."""
        return self.op("ReduceSum", x, np.array([axis]), keepdims=int(keep))

    def add_up(self, parts: list[str]) -> str:
        """Add tensors; one alone is itself."""
        return parts[0] if len(parts) == 1 else self.op("Sum", *parts)

    def column(self, x: str, j: int) -> str:
        """Return one column of a table, (n, 1)."""
        return self.op("Slice", x, np.array([j]), np.array([j + 1]), np.array([1]))

    def n_rows(self, x: str) -> str:
        """Return the number of rows, shape (1,)."""
        return self.op("Shape", x, start=0, end=1)

    def repeat(self, row: Any, like: str) -> str:
        """Return one row, as often as `like` has rows."""
        row = np.atleast_2d(np.asarray(row))
        shape = self.op("Concat", self.n_rows(like), np.array([row.shape[1]]), axis=0)
        return self.op("Expand", row, shape)

    def normalized(self, x: str, n_classes: int) -> str:
        """Scale rows to sum to 1; a row without a vote is spread evenly."""
        total = self.sum(x)
        there = self.op("Greater", total, 0.0)
        divided = self.op("Div", x, self.op("Where", there, total, 1.0))
        return self.op("Where", there, divided, np.full((1, n_classes), 1.0 / n_classes))

    def scatter(self, x: str, codes: np.ndarray, n_classes: int) -> str:
        """Put the columns of x at the places `codes` of a table of zeros, (n, n_classes)."""
        if np.array_equal(codes, np.arange(n_classes)):
            return x
        place = np.zeros((len(codes), n_classes))
        place[np.arange(len(codes)), codes] = 1.0
        return self.op("MatMul", x, place)

    def if_given(
        self, prices: str, given: Callable[[str], str], without: Callable[[], str]
    ) -> str:
        """Return what one of two branches computes, by whether any prices were given."""
        is_there = self.op("Greater", self.op("ReduceMax", self.n_rows(prices), keepdims=0), 0)
        branches, outer = [], self.nodes
        for build in (lambda: given(prices), without):
            self.nodes = []
            # A branch must make its own output, by another name than anything outside.
            end = self.op("Identity", build())
            info = self._helper.make_empty_tensor_value_info(end)
            branches.append(self._helper.make_graph(self.nodes, f"b{self._count}", [], [info]))
        self.nodes = outer
        return self.op("If", is_there, then_branch=branches[0], else_branch=branches[1])

    # -- the whole ---------------------------------------------------------------------------

    def model(self, metadata: dict[str, str], version: str) -> Any:
        """Return the whole as ONNX's ModelProto."""
        graph = self._helper.make_graph(
            self.nodes,
            "stakes",
            self.inputs,
            self.outputs,
            initializer=[*self.constants.values(), *self.defaults],
        )
        opsets = [
            self._helper.make_opsetid("", OPSET),
            self._helper.make_opsetid(ML, ML_OPSET),
        ]
        model = self._helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=IR_VERSION,
            producer_name="stakes",
            producer_version=version,
        )
        self._helper.set_model_props(model, metadata)
        return model

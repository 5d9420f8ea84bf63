"""Small functions made into one, before Numba sees them.

Numba compiles a function that others call on its own, and optimises it once more in every function
above it; its own way to inline copies the whole caller for each call. A kernel of many short steps
then takes half a minute to compile. `compose` writes the steps into their caller, as source, and
Numba compiles one function once.

A *step* is a function that `step` marks. It returns at its end alone, if at all, and is called as a
statement, on the right of an assignment, or as the condition of an ``if``. A step that is one
expression may be called anywhere; its arguments may then be evaluated several times.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any


def step(function: Callable) -> Any:
    """Mark a function as a step, to be written into its callers."""
    function.__dict__["is_step"] = True
    return function


def compose(function: Callable, steps: dict[str, Callable] | None = None, **constants: Any) -> Any:
    """Return the function with every step that it calls written into it.

    Parameters
    ----------
    function : function
        Made of steps.
    steps : dict of str to function, default=None
        Steps that take the place of those of these names.
    **constants
        Names that the new function encloses.

    Examples
    --------
    >>> from stakes.tree._steps import compose, step
    >>> @step
    ... def doubled(x):
    ...     return 2 * x
    >>> @step
    ... def clip(x, most):
    ...     clipped = most if x > most else x
    ...     return clipped
    >>> def run(x):
    ...     x = clip(x, 10)
    ...     return doubled(x)
    >>> compose(run).__code__.co_names  # it calls nothing
    ()
    >>> compose(run)(50)
    20
    """
    assert isinstance(function, FunctionType)
    writer = _Writer(function, steps or {})
    body = writer.body_of(function, {})
    own = _source(function)
    own.body = body
    own.decorator_list = []
    names = sorted(constants)
    outer = ast.FunctionDef(
        name="outer",
        args=ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, []),
        body=[own, ast.Return(ast.Name(own.name, ast.Load()))],
        decorator_list=[],
        returns=None,
    )
    if names:  # what is enclosed has to be used
        used = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        own.body.insert(0, ast.Assign([ast.Name("_", ast.Store())], used))
    module = ast.fix_missing_locations(ast.Module([outer], []))
    scope = dict(writer.scope)
    exec(compile(module, function.__code__.co_filename, "exec"), scope)
    composed = scope["outer"](**constants)
    composed.__doc__, composed.__module__ = function.__doc__, function.__module__
    # Numba calls the code that it keeps by this name: two functions of one name and of arguments of
    # one type, kept by two processes, would be taken for each other by a third.
    others = [other.__name__ for other in (steps or {}).values()]
    composed.__qualname__ = "_".join([function.__qualname__, *others])
    return composed


def _source(function: FunctionType) -> Any:
    return ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _expression_of(function: FunctionType) -> ast.expr | None:
    """Return the expression that is all of a step, or None."""
    body = [s for s in _source(function).body if not _is_docstring(s)]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


class _Names(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, names: dict[str, ast.expr]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.names:
            return node
        new = self.names[node.id]
        return ast.Name(new.id, node.ctx) if isinstance(new, ast.Name) else new


class _Writer:
    """Writes the bodies of steps; `scope` holds the globals of all of them."""

    def __init__(self, function: FunctionType, steps: dict[str, Callable]):
        self.scope: dict[str, Any] = {"__name__": function.__module__}
        self.steps = steps
        self.n_written = 0

    def body_of(self, function: FunctionType, names: dict[str, ast.expr]) -> list[ast.stmt]:
        """Return the statements of a function, its names replaced, the steps in it written out."""
        source = _source(function)
        self._learn_globals(function)
        body = [s for s in source.body if not _is_docstring(s)]
        body = [_Names(names).visit(s) for s in body]
        return self._expand(body, function)

    def _learn_globals(self, function: FunctionType) -> None:
        for name in function.__code__.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                known = self.scope.setdefault(name, value)
                if known is not value and not (type(known) is type(value) and known == value):
                    raise ValueError(f"{name!r} means two things in the steps of one kernel.")

    def _step(self, node: Any, function: FunctionType) -> Any:
        """Return the step that an expression calls, or None."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            return None
        called = self.steps.get(node.func.id) or function.__globals__.get(node.func.id)
        return called if getattr(called, "is_step", False) else None

    def _expand(self, body: list[ast.stmt], function: FunctionType) -> list[ast.stmt]:
        written: list[ast.stmt] = []
        for statement in body:
            written += self._expand_one(statement, function)
        return written

    def _expand_one(self, statement: Any, function: FunctionType) -> list[ast.stmt]:
        before: list[ast.stmt] = []
        for slot in ("value", "test"):
            called = self._step(getattr(statement, slot, None), function)
            if called is not None and _expression_of(called) is None:
                if slot == "test" and not isinstance(statement, ast.If):
                    raise ValueError(f"{called.__name__} cannot be the condition of a loop.")
                before, answer = self._write(called, getattr(statement, slot), function)
                if isinstance(statement, ast.Expr):
                    return before
                setattr(statement, slot, answer)
        for slot in ("body", "orelse"):
            if getattr(statement, slot, None) and isinstance(getattr(statement, slot), list):
                setattr(statement, slot, self._expand(getattr(statement, slot), function))
        for slot, value in list(ast.iter_fields(statement)):
            if isinstance(value, ast.expr):
                setattr(statement, slot, self._put_expressions(value, function))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(statement, slot, [self._put_expressions(v, function) for v in value])
        return [*before, statement]

    def _put_expressions(self, node: ast.expr, function: FunctionType) -> ast.expr:
        writer = self

        class Expressions(ast.NodeTransformer):
            def visit_Call(self, node: ast.Call) -> ast.expr:
                self.generic_visit(node)
                called = writer._step(node, function)
                if called is None:
                    return node
                expression = _expression_of(called)
                if expression is None:
                    raise ValueError(f"{called.__name__} is called inside an expression.")
                writer._learn_globals(called)
                inner = _Names(writer._arguments(called, node)).visit(expression)
                return writer._put_expressions(inner, called)

        return Expressions().visit(node)

    def _arguments(self, called: FunctionType, call: ast.Call) -> dict[str, ast.expr]:
        names = called.__code__.co_varnames[: called.__code__.co_argcount]
        if len(call.args) != len(names) or call.keywords:
            raise ValueError(f"{called.__name__} takes its arguments by place, all of them.")
        return dict(zip(names, call.args))

    def _write(self, called: Any, call: ast.Call, function: FunctionType) -> tuple[list, Any]:
        """Return the statements of a step that is called, and what it returns."""
        self.n_written += 1
        prefix = f"{called.__name__}_{self.n_written}_"
        source = _source(called)
        stored = {
            node.id
            for node in ast.walk(source)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        names: dict[str, ast.expr] = {name: ast.Name(prefix + name, ast.Load()) for name in stored}
        before: list[ast.stmt] = []
        for name, given in self._arguments(called, call).items():
            if isinstance(given, ast.Name) and name not in stored:
                names[name] = given
            else:
                given = self._put_expressions(given, function)
                before.append(_assign(prefix + name, given))
                names[name] = ast.Name(prefix + name, ast.Load())
        body = self.body_of(called, names)
        answer: Any = None
        if body and isinstance(body[-1], ast.Return):
            answer = body[-1].value
            body = body[:-1]
        if any(isinstance(node, ast.Return) for s in body for node in ast.walk(s)):
            raise ValueError(f"{called.__name__} returns before its end.")
        return [*before, *body], answer

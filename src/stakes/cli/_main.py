"""The way in: one sentence and exit code 2 for whatever goes wrong, never a traceback."""

import os
import sys
import warnings
from typing import Any

from stakes.cli._errors import in_one_sentence

STOPPED = 130  # what a shell calls a process that Ctrl-C ended
STOPPED_MESSAGE = "stopped; what is finished is kept, and the same command goes on."


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : list of str, default=None
        Those of the process if None.
    """
    # Threads that wait for work sleep instead of spinning: on a busy machine that is the
    # difference between seconds and minutes. It must be said before the models are loaded.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    debug = bool(os.environ.get("STAKES_DEBUG"))
    try:
        import typer

        # Importing a module enters its commands, in this order.
        from stakes.cli import _costs, _lists, _reproduce, _run  # noqa: F401
        from stakes.cli._app import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich", "click"):
            raise
        print(
            f"Error: the command line needs {error.name}, which is not installed: "
            'pip install "stakes[cli,report,export]"',
            file=sys.stderr,
        )
        return _leave(2, arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            code = app(args=arguments, standalone_mode=False, prog_name="stakes")
        if code == STOPPED:
            return _fail(STOPPED_MESSAGE, STOPPED, arguments)
        return _leave(code if isinstance(code, int) else 0, arguments)
    except typer.Exit as error:
        return _leave(error.exit_code, arguments)
    except (typer.Abort, KeyboardInterrupt):
        return _fail(STOPPED_MESSAGE, STOPPED, arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _leave(0, arguments)
    except Exception as error:
        if hasattr(error, "format_message"):  # a wrong option or argument
            return _fail(error.format_message(), 2, arguments)
        if debug:
            raise
        return _fail(in_one_sentence(error), 2, arguments)


def _fail(message: str, code: int, arguments: list[str] | None) -> int:
    message = " ".join(message.split())
    message += "" if message.endswith((".", "?", "!")) else "."
    print(f"Error: {message}", file=sys.stderr)
    return _leave(code, arguments)


def _leave(code: int, arguments: list[str] | None) -> int:
    if arguments is None:  # called as the program, not from Python
        sys.exit(code)
    return code


def _show_warning(
    message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
) -> None:
    """Show the library's own warnings as sentences; those of its dependencies stay unseen."""
    from stakes.costs import CostWarning

    if issubclass(category, CostWarning):
        print(f"Note: {' '.join(str(message).split())}", file=sys.stderr)

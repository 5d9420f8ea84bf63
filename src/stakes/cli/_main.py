"""The way in: one sentence and exit code 2 for whatever goes wrong, never a traceback."""

import os
import sys
import warnings
from functools import partial
from typing import Any

from stakes.cli._errors import in_one_sentence, printable

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
    code, message = _run(arguments)
    if message:
        message = " ".join(message.split())
        message += "" if message.endswith((".", "?", "!")) else "."
        print(f"Error: {printable(message)}", file=sys.stderr)
    if arguments is None:  # called as the program, not from Python
        sys.exit(code)
    return code


def _run(arguments: list[str] | None) -> tuple[int, str]:
    """Return the exit code, and what went wrong."""
    try:
        import typer

        # Importing a module enters its commands.
        from stakes.cli import (  # noqa: F401
            _check,
            _compile,
            _costs,
            _explain,
            _export,
            _inspect,
            _lists,
            _monitor,
            _reproduce,
            _run,
            _serve,
        )
        from stakes.cli._app import app, typed
        from stakes.cli._dask import with_local
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich", "click"):
            raise
        install = 'pip install "stakes[cli,report,export]"'
        return 2, f"the command line needs {error.name}, which is not installed: {install}"
    typed(arguments)
    given = with_local(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = partial(_show_warning, set())
            code = app(args=given, standalone_mode=False, prog_name="stakes")
        code = code if isinstance(code, int) else 0
        return code, STOPPED_MESSAGE if code == STOPPED else ""
    except typer.Exit as error:
        return error.exit_code, ""
    except (typer.Abort, KeyboardInterrupt):
        return STOPPED, STOPPED_MESSAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0, ""
    except Exception as error:
        if hasattr(error, "format_message"):  # a wrong option or argument
            return 2, error.format_message()
        if os.environ.get("STAKES_DEBUG"):
            raise
        return 2, in_one_sentence(error)


def _show_warning(said: set[str], message: Any, category: Any, *_: Any, **__: Any) -> None:
    """Show the library's own warnings as sentences, once; those of its dependencies stay unseen."""
    from stakes.costs import CostWarning
    from stakes.tables import TableWarning
    from stakes.utils._files import StoreWarning
    from stakes.utils._notices import NotKeptWarning

    text = " ".join(str(message).split())
    shown = (CostWarning, TableWarning, StoreWarning, NotKeptWarning)
    if issubclass(category, shown) and text not in said:
        said.add(text)
        print(f"Note {printable(text)}", file=sys.stderr)

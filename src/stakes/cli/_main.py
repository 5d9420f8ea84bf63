"""The way in: one sentence and exit code 2 for whatever goes wrong, never a traceback."""

import os
import sys
import warnings

STOPPED = 130  # what a shell calls a process that Ctrl-C ended
STOPPED_MESSAGE = "stopped; what is finished is kept, and the same command goes on."


class UserError(Exception):
    """Something the user can mend; its message is one sentence."""


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


def in_one_sentence(error: Exception) -> str:
    """Return what a user should read about an exception."""
    from stakes.compare.runner import one_sentence

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for these data: use fewer rows or columns."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return one_sentence(error)


def _fail(message: str, code: int, arguments) -> int:
    message = " ".join(message.split())
    message += "" if message.endswith((".", "?", "!")) else "."
    print(f"Error: {message}", file=sys.stderr)
    return _leave(code, arguments)


def _leave(code: int, arguments) -> int:
    if arguments is None:  # called as the program, not from Python
        sys.exit(code)
    return code


def _show_warning(message, category, filename, lineno, file=None, line=None):
    """Show the library's own warnings as sentences; those of its dependencies stay unseen."""
    from stakes.costs import CostWarning

    if issubclass(category, CostWarning):
        print(f"Note: {' '.join(str(message).split())}", file=sys.stderr)

"""What a user should read about an error."""

# What moves the cursor, colours or turns round the text after it, and what cannot be encoded.
_CONTROLS = {*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A}
_TURNING = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_SHOWN = {code: ascii(chr(code))[1:-1] for code in _CONTROLS | _TURNING | {*range(0xD800, 0xE000)}}


def printable(text: str) -> str:
    r"""Return a text as a terminal may show it: names and labels can hold anything.

    Examples
    --------
    >>> from stakes.cli._errors import printable
    >>> print(printable("red \x1b[31m, [bold], € :smile:"))
    red \x1b[31m, [bold], € :smile:
    """
    return text.translate(_SHOWN)


class UserError(Exception):
    """Something the user can mend; its message is one sentence."""


def in_one_sentence(error: Exception) -> str:
    """Return what a user should read about an exception."""
    from stakes.compare.runner import one_sentence
    from stakes.utils._files import StoreError

    if isinstance(error, (UserError, StoreError)):
        return str(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for these data: use fewer rows or columns."
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"there is no file {error.filename}."
    if isinstance(error, IsADirectoryError) and error.filename:
        return f"{error.filename} is a folder: name a file."
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return one_sentence(error, limit=1000)

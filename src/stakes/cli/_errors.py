"""What a user should read about an error."""


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

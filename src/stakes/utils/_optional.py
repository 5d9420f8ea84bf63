"""Optional dependencies: absent ones fail late, with the line that installs them."""

import importlib
from types import ModuleType


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import `module`, or say in one sentence what needs it and how to install it.

    Parameters
    ----------
    module : str
        Name as in an import statement, such as ``"matplotlib.pyplot"``.
    extra : str
        The extra of this package that brings it, such as ``"plot"``.
    purpose : str
        What needs it, as the beginning of the sentence: ``"CostMatrixDisplay.plot"``.

    Examples
    --------
    >>> from stakes.utils._optional import import_optional
    >>> import_optional("json", extra="plot", purpose="This example").__name__
    'json'
    >>> import_optional("no_such_module", extra="plot", purpose="This example")
    Traceback (most recent call last):
        ...
    ImportError: This example needs no_such_module, which is not installed: pip install "stakes[plot]"
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        root = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != root:
            raise
        raise ImportError(
            f'{purpose} needs {root}, which is not installed: pip install "stakes[{extra}]"'
        ) from error

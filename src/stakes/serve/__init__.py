"""A service that decides: requests of rows, batches and prices; what it does is counted and watched.

``stakes serve model.skops`` and ``python -m stakes.serve model.skops`` are the same service; the
latter needs neither Typer nor a home folder.
"""

from stakes.serve._app import make_app
from stakes.serve._run import serve
from stakes.serve._service import Service

__all__ = ["Service", "make_app", "serve"]

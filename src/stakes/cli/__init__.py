"""The command line: stakes compare, fit, predict, costs, datasets, methods, reproduce."""

from stakes.cli._main import main

__all__ = ["main"]

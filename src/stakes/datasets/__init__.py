"""Data sets with what their mistakes cost, and generators whose least cost is known."""

from stakes.datasets._examples import example_tables, write_examples
from stakes.datasets._known_posterior import KnownPosterior, make_known_posterior
from stakes.datasets._load import list_datasets, load_dataset

__all__ = [
    "KnownPosterior",
    "example_tables",
    "list_datasets",
    "load_dataset",
    "make_known_posterior",
    "write_examples",
]

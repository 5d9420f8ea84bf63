"""Data sets with what their mistakes cost, and generators whose least cost is known."""

from stakes.datasets._known_posterior import KnownPosterior, make_known_posterior
from stakes.datasets._load import list_datasets, load_dataset

__all__ = ["KnownPosterior", "list_datasets", "load_dataset", "make_known_posterior"]

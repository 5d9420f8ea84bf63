"""Data sets with what their mistakes cost, and generators whose least cost is known."""

from stakes.datasets._load import list_datasets, load_dataset

__all__ = ["list_datasets", "load_dataset"]

"""Learning from Dask collections: partitions where they are, and sums over workers.

Nothing here is imported before a Dask collection is given.
"""

"""Learning from Dask collections: partitions where they are, and sums over workers.

It has no names of its own: the estimators, metrics and commands that can take Dask collections hand
them to `stakes.cluster._door`, and none of them knows of Dask. Nothing here is imported before.
"""

__all__: list[str] = []

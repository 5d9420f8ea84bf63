"""Binary learners on (x, decision) pairs: one-hot decisions for any classifier.

Pairs are built for a drawn sample, or for a chunk of rows at a time, and never for all.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from stakes._learning.draws import fit_clone
from stakes._learning.votes import mean_one, one_hot
from stakes.reductions._members import EstimatorLearner
from stakes.reductions._sampling import pair_of
from stakes.utils._sklearn import safe_indexing

# Numbers in the pairs of one chunk: a few megabytes, so that memory is that of the data.
CHUNK_NUMBERS = 2**19


class EstimatorPairLearner(EstimatorLearner):
    """Fits clones of a classifier on [x, one-hot decision].

    The parameters are those of `EstimatorLearner`; `n_classes` counts the decisions.
    """

    def chunk_rows(self, X: Any) -> int:
        """Return how many rows' pairs are built at a time."""
        return max(1, CHUNK_NUMBERS // (self.n_classes * (X.shape[1] + self.n_classes)))

    def fit_pairs(
        self, X: Any, pairs: np.ndarray, positive: np.ndarray, weights: Any, seed: int
    ) -> Any:
        """Fit one round.

        Parameters
        ----------
        X : array-like
            What `prepare` returned.
        pairs : ndarray of shape (n_pairs,)
            Places in the (n, K) table of pairs.
        positive : ndarray of shape (n_pairs,), dtype bool
            Which of them to accept; some are, and some are not.
        weights : ndarray of shape (n, K) or None
            The signed weights of the table; None if the pairs weigh the same.
        seed : int
            Seeds the classifier.
        """
        rows, labels = pair_of(pairs, self.n_classes)
        table = self.pairs(safe_indexing(X, rows), labels)
        weight = None if weights is None else mean_one(np.abs(weights.ravel()[pairs]))
        return fit_clone(self.estimator, seed, table, positive.astype(np.intp), weight)

    def chunk(self, X: Any, part: slice) -> Any:
        """Return all pairs of some rows, decisions running fastest."""
        X = X.iloc[part] if hasattr(X, "iloc") else X[part]
        n_rows = X.shape[0]
        rows = np.repeat(np.arange(n_rows), self.n_classes)
        return self.pairs(safe_indexing(X, rows), np.tile(np.arange(self.n_classes), n_rows))

    def chunk_length(self, chunk: Any) -> int:
        """Return the number of rows of X in a chunk."""
        return chunk.shape[0] // self.n_classes

    def fires(self, member: Any, chunk: Any) -> np.ndarray:
        """Return which pairs of a chunk the member accepts, (rows, n_classes)."""
        return (self.predict(member, chunk) == 1).reshape(-1, self.n_classes)

    def pairs(self, X: Any, labels: np.ndarray) -> Any:
        """Return X with the one-hot decisions as further columns."""
        hot = one_hot(labels, self.n_classes)
        if hasattr(X, "iloc"):
            import pandas as pd

            names = [f"decision_{k}" for k in range(self.n_classes)]
            return pd.concat([X, pd.DataFrame(hot, columns=names, index=X.index)], axis=1)
        if sp.issparse(X):
            blocks: list = [X, sp.csr_array(hot)]
            return sp.hstack(blocks, format="csr")
        if X.dtype.kind == "f":
            hot = hot.astype(X.dtype, copy=False)
        return np.hstack([X, hot])

"""Free text as numbers: words, pairs of words and letters in a row that occur in several rows."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from stakes.tables._evidence import LEAST_ROWS
from stakes.utils._blas import one_blas_thread

WORD = re.compile(r"\w+")
LETTERS = (3, 4)  # so many in a row, blanks around words included
LONG = 50  # texts of more words than this, on average, are told by their words alone
MAX_TERMS = 10_000  # the most frequent: of words and pairs, and of letters
LEARNED_ROWS = 20_000  # from so many rows, evenly drawn, terms and their weights are learned
N_COMPONENTS = 50


@dataclass(eq=False)
class TextForm:
    """How the texts of a column become numbers.

    Two forms: how often each term occurs, sparse; and a few dense columns to which those are
    reduced.

    Parameters
    ----------
    words, letters : ndarray of str
        Words and pairs of words; letters in a row. Sorted.
    weights : ndarray of shape (n_terms,)
        The less frequent a term, the greater: log((1 + n) / (1 + rows with it)) + 1.
    components : ndarray of shape (n_terms, width)
        What reduces counts, once weighed (truncated singular value decomposition).

    Examples
    --------
    >>> from stakes.tables._text import TextForm
    >>> form = TextForm.learn(["red wine", "red beer", "white wine"] * 5, seed=0)
    >>> form.words.tolist()
    ['beer', 'red', 'red beer', 'red wine', 'white', 'white wine', 'wine']
    >>> form.counts(["Red, red wine"])[:, :7].toarray().tolist()
    [[0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 1.0]]
    """

    words: np.ndarray
    letters: np.ndarray
    weights: np.ndarray
    components: np.ndarray

    @classmethod
    def learn(cls, texts: Sequence[str], seed: int) -> "TextForm":
        """Learn the terms of texts and how to reduce them."""
        if len(texts) > LEARNED_ROWS:
            kept = np.linspace(0, len(texts) - 1, LEARNED_ROWS).round().astype(int)
            texts = [texts[i] for i in kept]
        counts, names = _count(texts)
        words, rows = _frequent(counts, names)
        letters, more = np.array([], dtype=str), np.zeros(0)
        if counts.sum() <= 2 * LONG * len(texts):  # pairs are as many as words
            letters, more = _frequent(*_letters_of(counts, names))
        rows = np.concatenate([rows, more])
        weights = np.log((1.0 + len(texts)) / (1.0 + rows)) + 1.0
        form = cls(words, letters, weights, np.zeros((len(weights), 0)))
        form.components = _reduction(form._weigh(form.counts(texts)), seed)
        return form

    def __getstate__(self) -> dict:
        kept = ("words", "letters", "weights", "components")
        return {name: getattr(self, name) for name in kept}

    @cached_property
    def _index(self) -> tuple[dict[str, int], dict[str, int]]:
        """The positions of words, and of letters."""
        words, letters = self.words.tolist(), self.letters.tolist()
        return {w: i for i, w in enumerate(words)}, {t: i for i, t in enumerate(letters)}

    @property
    def width(self) -> int:
        """How many dense columns there are."""
        return int(self.components.shape[1])

    def counts(self, texts: Iterable[str]) -> Any:
        """Return how often each term occurs in each text, (n, n_terms)."""
        tally, names = _count(texts)
        words, letters = self._index
        counts = _aligned(tally, names, words)
        if not letters:
            return counts
        return sparse.hstack([counts, _aligned(*_letters_of(tally, names), letters)], format="csr")

    def reduce(self, counts: Any) -> np.ndarray:
        """Return the dense form of counts, (n, width)."""
        return np.asarray(self._weigh(counts) @ self.components, dtype=np.float64)

    def _weigh(self, counts: Any) -> Any:
        """Return counts as TF-IDF: (1 + log count) times the weight, each row of length 1."""
        said = (1.0 + np.log(counts.data)) * self.weights[counts.indices]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        squares = np.bincount(rows, weights=said**2, minlength=counts.shape[0])
        said = said / np.sqrt(squares)[rows]
        return sparse.csr_array((said, counts.indices, counts.indptr), shape=counts.shape)


def _count(texts: Iterable[str]) -> tuple[Any, list[str]]:
    """Return how often each word and each pair of words occurs in each text, and which they are."""
    index: dict[str, int] = {}
    starts, places = [0], []
    for text in texts:
        words = WORD.findall(text.lower())
        places += [index.setdefault(word, len(index)) for word in words]
        places += [index.setdefault(f"{a} {b}", len(index)) for a, b in pairwise(words)]
        starts.append(len(places))
    return _table(places, starts, len(index)), list(index)


def _letters_of(counts: Any, names: list[str]) -> tuple[Any, list[str]]:
    """Return how often letters in a row occur in each text, from its words; and which they are."""
    index: dict[str, int] = {}
    starts, places = [0], []
    for name in names:
        padded = "" if " " in name else f" {name} "
        places += [
            index.setdefault(padded[i : i + n], len(index))
            for n in LETTERS
            for i in range(len(padded) - n + 1)
        ]
        starts.append(len(places))
    return (counts @ _table(places, starts, len(index))).tocsr(), list(index)


def _table(places: list[int], starts: list[int], width: int) -> Any:
    """Return a sparse table with a row for each start, which counts places."""
    given = np.ones(len(places)), np.array(places, np.int32), np.array(starts, np.int32)
    counts = sparse.csr_array(given, shape=(len(starts) - 1, width))
    counts.sum_duplicates()
    return counts


def _frequent(counts: Any, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms that are frequent enough, sorted, and how many rows have each."""
    rows = np.bincount(counts.indices, minlength=len(names))
    kept = np.flatnonzero(rows >= LEAST_ROWS)
    kept = kept[np.argsort(-rows[kept], kind="stable")[:MAX_TERMS]].tolist()
    kept.sort(key=names.__getitem__)
    return np.array([names[i] for i in kept], dtype=str), rows[kept].astype(np.float64)


def _aligned(counts: Any, names: list[str], index: dict[str, int]) -> Any:
    """Return counts with the columns of an index; other terms are left out."""
    places = np.array([index.get(name, -1) for name in names], dtype=np.int32)
    columns = places[counts.indices]
    known = columns >= 0
    starts = np.append(0, np.cumsum(known)).astype(np.int32)[counts.indptr]
    given = counts.data[known], columns[known], starts
    aligned = sparse.csr_array(given, shape=(counts.shape[0], len(index)))
    aligned.sort_indices()
    return aligned


def _reduction(weighed: Any, seed: int) -> np.ndarray:
    """Return the directions in which rows differ most, (n_terms, width)."""
    from sklearn.decomposition import TruncatedSVD

    most = min(N_COMPONENTS, weighed.shape[1] - 1, weighed.shape[0] - 1)
    if most < 1:
        return np.zeros((weighed.shape[1], 0))
    # One thread: sums of several would differ in the last digit with their number.
    with one_blas_thread():
        fitted = TruncatedSVD(most, random_state=seed).fit(weighed)
    return np.ascontiguousarray(fitted.components_.T)

"""Class labels: as tuples, and as positions among other labels."""

from itertools import pairwise
from typing import Any

import numpy as np

from stakes.utils._arrays import quoted
from stakes.utils._frames import as_column


def as_labels(labels: Any) -> tuple:
    """Return labels as a tuple of plain Python values."""
    array = np.asarray(labels, dtype=object) if not hasattr(labels, "tolist") else labels
    return tuple(array.tolist())


def label_array(labels: Any) -> np.ndarray:
    """Return labels as an array of their own kind: text with text, numbers with numbers.

    Examples
    --------
    >>> from stakes.utils._labels import label_array
    >>> label_array(("no", "yes")), label_array((0, "ask"))
    (array(['no', 'yes'], dtype='<U3'), array([0, 'ask'], dtype=object))
    """
    kinds = {isinstance(label, str) for label in labels}
    return np.array(labels, dtype=object if len(kinds) > 1 else None)


# Two classes whose names make it plain which of them is the positive one: (positive, negative).
PLAIN = (
    ("1", "0"),
    ("1", "-1"),
    ("yes", "no"),
    ("y", "n"),
    ("true", "false"),
    ("t", "f"),
    ("positive", "negative"),
    ("pos", "neg"),
)


def plain_positive(labels: Any) -> Any:
    """Return the one of two classes whose name makes it plain that it is the positive one, or None.

    Examples
    --------
    >>> from stakes.utils._labels import plain_positive
    >>> plain_positive(["No", "Yes"]), plain_positive(["bad", "good"])
    ('Yes', None)
    """
    names = [str(label).lower() for label in labels]
    for at in (0, 1) if len(names) == 2 else ():
        if (names[at], names[1 - at]) in PLAIN:
            return labels[at]
    return None


def are_ordered(labels: Any) -> bool:
    """Say whether classes stand in an order of their own, which is not that of the alphabet alone.

    Numbers do, truth values, times, whole numbers in text, letters that follow each other, and
    names such as "no" and "yes".

    Examples
    --------
    >>> from stakes.utils._labels import are_ordered
    >>> are_ordered([0, 1]), are_ordered(["no", "yes"]), are_ordered(["bad", "good"])
    (True, True, False)
    >>> are_ordered(["1", "2"]), are_ordered(["1", "10", "2"]), are_ordered(["A", "B", "C"])
    (True, False, True)
    """
    labels = as_labels(labels)
    text = [label for label in labels if isinstance(label, str | bytes)]
    if not text or plain_positive(labels) == labels[-1]:
        return True
    if all(isinstance(label, str) and len(label) == 1 and label.isalpha() for label in labels):
        return all(ord(b) - ord(a) == 1 for a, b in pairwise(labels))
    try:
        return all(int(a) < int(b) for a, b in pairwise(labels))
    except ValueError:
        return False


def abstain_label(classes: Any, label: Any = None) -> Any:
    """Return what an abstention is called, by default "abstain" or, among numbers, -1.

    Examples
    --------
    >>> from stakes.utils._labels import abstain_label
    >>> abstain_label(["bad", "good"]), abstain_label([0, 1])
    ('abstain', -1)
    """
    classes = np.asarray(classes)
    text = classes.dtype.kind in "OUS"
    if label is None:
        label = "abstain" if text else -1
    if label in classes.tolist():
        raise ValueError(
            f"abstain_label={label!r} is decided already, as one of {quoted(classes)}: choose another label."
        )
    return label


def label_positions(labels: tuple, wanted: tuple) -> dict:
    """Return the position of each wanted label: by value, else by text ("1" in a file meets 1)."""
    by_value = {label: i for i, label in enumerate(labels)}
    by_text = {str(label): i for i, label in enumerate(labels)}
    exact = all(w in by_value for w in wanted)
    places = {}
    for w in wanted:
        if w in by_value:
            places[w] = by_value[w]
        elif not exact and str(w) in by_text:
            places[w] = by_text[str(w)]
    return places


def encode_labels(y: Any, labels: Any = None) -> tuple[tuple, np.ndarray]:
    """Return (labels, position of each y among them); a y outside of them is refused."""
    y = np.asarray(as_column(y))
    if labels is not None and y.dtype == object and len({isinstance(v, str) for v in y}) > 1:
        return _encode_mixed(y, as_labels(labels))
    seen = np.unique(y)
    inverse = np.searchsorted(seen, y)  # np.unique's own takes several times as long
    seen_labels = as_labels(seen)
    if labels is None:
        return seen_labels, inverse
    labels = as_labels(labels)
    position = label_positions(labels, seen_labels)
    missing = [s for s in seen_labels if s not in position]
    if missing:
        raise ValueError(f"y has {quoted(missing)}, but the labels are {quoted(labels)}.")
    return labels, np.array([position[s] for s in seen_labels], dtype=np.intp)[inverse]


def _encode_mixed(y: np.ndarray, labels: tuple) -> tuple[tuple, np.ndarray]:
    """Do the same for text beside numbers, which have no order."""
    seen = tuple(dict.fromkeys(y.tolist()))
    position = label_positions(labels, seen)
    missing = [s for s in seen if s not in position]
    if missing:
        raise ValueError(f"y has {quoted(missing)}, but the labels are {quoted(labels)}.")
    return labels, np.array([position[label] for label in y.tolist()], dtype=np.intp)

"""The decision layer as a file: JSON, its readers, and the same as a query in SQL."""

import json
import os
from importlib.resources import files
from typing import Any

import numpy as np

from stakes import __version__
from stakes.decision import BaseRule
from stakes.export._layer import FORMAT, NotExportable, layer_of
from stakes.export._learners import layer_of_classifier
from stakes.export._source import Source
from stakes.export._verify import TIE, ExportRefused, sample_prices
from stakes.export.readers import decide as _reader
from stakes.utils._files import write_atomically

N_TRIED = 2000
N_SHOWN = 20


def to_json(
    model: Any, path: str | os.PathLike | None = None, *, random_state: int = 0
) -> dict[str, Any]:
    """Write the decision layer of a model: from probabilities to the decision, as plain numbers.

    For teams that keep a model of their own, in whatever language: labels, prices, calibration
    and rule in one file of JSON, read by a few lines (`reader_source`). It is verified before it
    is written: the reader in Python decides 2,000 made-up rows of probabilities as the model's
    own rule does.

    Parameters
    ----------
    model : DecisionModel, CostDecisionClassifier, StakesClassifier or rule
        Fitted.
    path : path-like, default=None
        Where to; such as ``layer.json``. None writes no file.
    random_state : int, default=0
        Draws the rows that are tried.

    Returns
    -------
    layer : dict
        What the file holds; its schema is ``reader_source("schema")``.

    Examples
    --------
    >>> from stakes.decision import MinimumExpectedCost
    >>> from stakes.export import decide_layer, to_json
    >>> rule = MinimumExpectedCost(cost_matrix=[[0, 1], [20, 0]])
    >>> layer = to_json(rule.fit([[0.5, 0.5]] * 2, ["ok", "ill"], ))
    >>> decide_layer(layer, [0.1, 0.9])  # columns in the order of the classes: ill, ok
    ('ok', [18.0, 0.1])
    """
    layer, said = _layer_and_rule(model)
    rng = np.random.default_rng(random_state)
    report, proba, decisions, expected = _verify(layer, said, rng)
    layer["check"] = {
        "probabilities": proba[:N_SHOWN].tolist(),
        "decisions": decisions[:N_SHOWN],
        "expected_costs": expected[:N_SHOWN],
    }
    layer["verification"] = report
    layer["versions"] = {"stakes": __version__}
    if path is not None:
        write_atomically(path, json.dumps(layer, indent=1) + "\n")
    return layer


def _layer_and_rule(model: Any) -> tuple[dict, Any]:
    """Return the layer, and a function that decides probabilities as the model itself does."""
    if isinstance(model, BaseRule):
        labels = np.asarray(model.classes_).tolist()
        layer = layer_of(model, labels=labels, cost_matrix=model.cost_matrix_)
        return layer, lambda proba, prices: model._decide(proba, prices)
    source = Source(model)
    last = source.last
    if last is not source.estimator:
        raise NotExportable(
            "The model is a pipeline: its layer is that of the last step; export that."
        )
    layer = layer_of_classifier(last)
    if source.model is not None and source.model.priors is not None:
        raise NotExportable(
            "The model was adapted to other class frequencies beside its decision layer: export it "
            "with to_onnx."
        )
    layer["labels"] = source.labels
    if layer["abstain"] is not None and source.model is not None:
        layer["abstain"]["label"] = source.all_labels[-1]

    def said(proba: np.ndarray, prices: np.ndarray | None) -> np.ndarray:
        calibrator = getattr(last, "calibrator_", None)
        rule = last.rule_
        if calibrator is not None:
            proba = calibrator.transform(proba)
        if hasattr(last, "_at_priors"):
            proba = last._at_priors(proba)
        known = last.cost_matrix_ if prices is None else prices
        expected = np.einsum("nt,td->nd" if known.ndim == 2 else "nt,ntd->nd", proba, known)
        decided = expected.argmin(axis=1) if rule is None else rule._decide(proba, prices)
        aside = getattr(last, "abstain_costs_", None)
        if aside is None:
            return decided
        own = expected[np.arange(len(decided)), decided]
        return np.where(proba @ aside < own, len(source.labels), decided)

    return layer, said


def _verify(layer: dict, said: Any, rng: np.random.Generator) -> tuple[dict, Any, list, list]:
    n_classes = len(layer["labels"])
    proba = rng.dirichlet(np.full(n_classes, 0.6), N_TRIED)
    proba[:n_classes] = np.eye(n_classes)  # the corners
    proba[n_classes] = 1.0 / n_classes
    labels = [*layer["labels"]]
    if layer["abstain"] is not None:
        labels.append(layer["abstain"]["label"])
    matrix = np.array(layer["cost_matrix"])
    shown: tuple[list, list] = ([], [])
    n_ties = 0
    for prices in (None, sample_prices(matrix, N_TRIED, rng)):
        if prices is not None and layer["with_prices"] is None:
            continue
        own = said(proba, prices)
        found = [
            _reader.decide(layer, p, None if prices is None else prices[i].tolist())
            for i, p in enumerate(proba.tolist())
        ]
        wrong = []
        for i, (label, expected) in enumerate(found):
            if label != labels[own[i]]:
                gap = abs(expected[labels.index(label)] - expected[own[i]])
                n_ties += gap <= TIE
                if gap > TIE:
                    wrong.append(i)
        if wrong:
            raise ExportRefused(
                f"Not exported: the reader decides {len(wrong)} of {N_TRIED} rows of probabilities "
                "otherwise than the model's rule. Please report this.",
                wrong,
            )
        if prices is None:
            shown = [label for label, _ in found], [expected for _, expected in found]
    return {"n_rows": N_TRIED, "n_ties": n_ties, "tie": TIE}, proba, *shown


def decide_layer(layer: dict, proba: Any, prices: Any = None) -> tuple[Any, list[float]]:
    """Return the decision for one row of probabilities, and what each decision is expected to cost.

    The reference reader of a decision layer; its source stands alone: ``reader_source("python")``.

    Parameters
    ----------
    layer : dict
        What `to_json` returned, or what its file holds.
    proba : array-like of shape (n_classes,)
        Probabilities of one row, in the order of ``layer["labels"]``: those of the model behind the
        layer. Where the layer calibrates, `predict_proba` of the calibrated model would be
        calibrated twice.
    prices : array-like of shape (n_classes, n_classes), default=None
        The row's own costs, [true, predicted].

    Returns
    -------
    decision : label
        Of equally good ones the first.
    expected : list of float
        In the order of the labels; one more for leaving the row to people, where that is open.

    Examples
    --------
    >>> from stakes.decision import MinimumExpectedCost
    >>> from stakes.export import decide_layer, to_json
    >>> layer = to_json(MinimumExpectedCost(cost_matrix=[[0, 1], [5, 0]]).fit([[1, 0]] * 2, [0, 1]))
    >>> decide_layer(layer, [0.75, 0.25]), decide_layer(layer, [0.75, 0.25], [[0, 9], [5, 0]])
    ((1, [1.25, 0.75]), (0, [1.25, 6.75]))
    """
    if not isinstance(layer, dict) or layer.get("format") != FORMAT:
        raise ValueError(f"This is no decision layer: its format should be {FORMAT!r}.")
    given = None if prices is None else np.asarray(prices, dtype=np.float64).tolist()
    return _reader.decide(layer, np.asarray(proba, dtype=np.float64).tolist(), given)


def reader_source(language: str) -> str:
    """Return the source of a reader of decision layers, to copy; or the schema of the file.

    Parameters
    ----------
    language : {"python", "javascript", "schema"}
        Which.

    Examples
    --------
    >>> from stakes.export import reader_source
    >>> "function decide(layer, p" in reader_source("javascript")
    True
    """
    names = {"python": "decide.py", "javascript": "decide.js", "schema": "layer.schema.json"}
    if language not in names:
        raise ValueError(f"There is no reader for {language!r}: choose one of {', '.join(names)}.")
    return (files("stakes.export.readers") / names[language]).read_text(encoding="utf-8")

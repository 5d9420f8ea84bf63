"""A policy as a file of JSON, and the programs that decide by it wherever it is copied to."""

import json
import os
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from stakes import __version__
from stakes.decision import Policy, program
from stakes.export._old_layer import OLD_FORMAT, as_policy_numbers
from stakes.export._settle import n_priced
from stakes.export._source import as_policy, policy_numbers, tables_of
from stakes.export._verify import (
    TIE,
    NotExportable,
    Said,
    Verification,
    compare_said,
    sample_prices,
)
from stakes.utils._files import write_atomically

N_TRIED = 2000
N_SHOWN = 20
# So many prices of rows are made up at a time.
MOST_PRICES = 4_000_000
READERS = {
    "python": ("stakes.decision", "program.py"),
    "javascript": ("stakes.decision", "program.js"),
    "schema": ("stakes.export", "policy.schema.json"),
}


def to_json(
    model: Any, path: str | os.PathLike | None = None, *, random_state: int = 0
) -> dict[str, Any]:
    """Write the policy of a model: from probabilities to the decision, as plain numbers.

    For teams that keep a model of their own, in whatever language: classes, decisions, prices,
    calibration, class frequencies and what a rule has learned in one file of JSON, read by a
    program to copy (`reader_source`). It is verified before it is written: the program, given what
    the file holds, decides 2,000 made-up rows of probabilities as the model's own policy does.

    Parameters
    ----------
    model : DecisionModel, CostDecisionClassifier, StakesClassifier, rule or Policy
        Fitted.
    path : path-like, default=None
        Where to; such as ``policy.json``. None writes no file.
    random_state : int, default=0
        Draws the rows that are tried.

    Returns
    -------
    policy : dict
        What the file holds: ``Policy.to_dict()``, made-up rows with their decisions (``check``), the
        report of the check and the versions that wrote it. Its schema is
        ``reader_source("schema")``.

    See Also
    --------
    from_json : Reads the file.

    Examples
    --------
    >>> from stakes.costs import CostMatrix
    >>> from stakes.decision import MinimumExpectedCost
    >>> from stakes.export import from_json, to_json
    >>> C = CostMatrix([[0, 1], [20, 0]], labels=["ill", "ok"])
    >>> rule = MinimumExpectedCost(cost_matrix=C)
    >>> file = to_json(rule.fit([[0.5, 0.5]] * 2, ["ok", "ill"]))
    >>> from_json(file).decide([[0.1, 0.9]]).labels  # columns in the order of the classes: ill, ok
    array(['ok'], dtype='<U3')
    """
    policy = as_policy(model)
    numbers = policy_numbers(policy)
    if numbers["states"] != "probabilities":
        raise NotExportable(
            "The model does not decide by probabilities and a rule, but by costs or votes that it "
            "has learned from the table itself: there is no policy to take elsewhere. Use to_onnx."
        )
    text = json.dumps(numbers)  # what the file will hold, to the last digit
    rng = np.random.default_rng(random_state)
    report, check = _verify(json.loads(text), policy, rng)
    file = numbers | {"check": check, "verification": report, "versions": {"stakes": __version__}}
    if path is not None:
        write_atomically(path, json.dumps(file, indent=1) + "\n")
    return file


def _verify(numbers: dict, policy: Policy, rng: np.random.Generator) -> tuple[dict, dict]:
    """Decide made-up rows by the program and by the policy; refuse where they differ."""
    k = len(policy.classes)
    proba = rng.dirichlet(np.full(k, 0.6), N_TRIED)
    proba[: min(k, N_TRIED)] = np.eye(k)[:N_TRIED]  # the corners
    proba[-1] = 1.0 / k
    own = policy.prices[:, : n_priced(numbers)]
    n_priced_rows = max(1, min(N_TRIED, MOST_PRICES // policy.prices.size))
    scale, report, check = max(np.abs(own).max(), 1e-300), Verification(0, 0), dict[str, Any]()
    for n_rows, weighs in ((N_TRIED, False), (n_priced_rows, True)):
        if policy.weighs_prices < weighs or policy.needs_prices > weighs:
            continue
        rows = proba[-n_rows:]
        prices = sample_prices(own, n_rows, rng) if weighs else None
        decided = policy.decide(rows, prices)
        tables = tables_of(policy, decided, policy.state(rows), prices)
        positions, expected = program.decide(numbers, rows, prices)
        ours = Said(decided.positions, tables, expected=decided.expected)
        compare_said(ours, Said(positions, expected=expected), scale, report)
        report.n_rows = max(report.n_rows, n_rows)
        if not check:
            shown = slice(n_rows - min(N_SHOWN, n_rows), n_rows)
            check = {
                "probabilities": rows[shown].tolist(),
                "prices": None if prices is None else prices[shown].tolist(),
                "decisions": [numbers["decisions"][i] for i in positions[shown]],
                "expected_costs": expected[shown].tolist(),
            }
    return {"n_rows": report.n_rows, "n_ties": report.n_ties, "tie": TIE}, check


def from_json(source: Any) -> Policy:
    """Return the policy in a file of `to_json`, of this version or an older one.

    Parameters
    ----------
    source : path-like or dict
        The file, or what it holds.

    Returns
    -------
    policy : Policy
        Decides rows of probabilities: those of the model behind it, not yet calibrated where the
        policy calibrates.

    Examples
    --------
    >>> from stakes.decision import MinimumExpectedCost
    >>> from stakes.export import from_json, to_json
    >>> rule = MinimumExpectedCost(cost_matrix=[[0, 1], [5, 0]]).fit([[1, 0]] * 2, [0, 1])
    >>> policy = from_json(to_json(rule))
    >>> policy.decide([[0.75, 0.25]]).labels, policy.decide([[0.75, 0.25]], [[[0, 9], [5, 0]]]).labels
    (array([1]), array([0]))
    """
    return Policy.from_dict(read_numbers(source))


def read_numbers(source: Any) -> dict:
    """Return a policy's dictionary from a file or what it holds; an older layer in today's form."""
    if not isinstance(source, Mapping):
        with open(source, encoding="utf-8") as file:
            source = json.load(file)
    if isinstance(source, Mapping) and source.get("format") == OLD_FORMAT:
        source = as_policy_numbers(source)
    program.check(source)
    return dict(source)


def reader_source(language: str) -> str:
    """Return the source of a program that decides by a policy, to copy; or the schema of the file.

    Parameters
    ----------
    language : {"python", "javascript", "schema"}
        Which. Python's needs NumPy, JavaScript's nothing.

    Examples
    --------
    >>> from stakes.export import reader_source
    >>> "function decide(policy, p" in reader_source("javascript")
    True
    """
    if language not in READERS:
        raise ValueError(
            f"There is no reader for {language!r}: choose one of {', '.join(READERS)}."
        )
    package, name = READERS[language]
    return (files(package) / name).read_text(encoding="utf-8")

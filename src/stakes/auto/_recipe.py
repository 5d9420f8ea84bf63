"""The recipe: folds, members out of fold, the blend, and what is kept of them."""

import time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from stakes.auto._blend import (
    Blend,
    class_frequencies,
    cross_fitted,
    fit_blend,
    log_probabilities,
)
from stakes.auto._members import RECIPE, fit_and_ask

# Up to here members are asked out of fold; beyond, on one held-out part.
FOLD_ROWS = 20_000
# Up to here the folds are dealt twice: which rows fell together matters less then.
TWO_DEALS_ROWS = 2_000
HELD_OUT = 0.2
MAX_HELD_OUT_ROWS = 20_000
# A member with less than this share of the weights is dropped.
LEAST_SHARE = 0.01


class Outcome(NamedTuple):
    """What `run_members` found; lists have one entry per member that worked.

    Parameters
    ----------
    members : list of Member
        Those that worked.
    logs : ndarray of shape (n_members, n_deals * n_held_out, n_classes)
        Their log probabilities of the held-out rows, one deal of the folds after the other.
    seconds : list of float
        What each took.
    trouble : list of tuple
        (name, reason) of those that did not.
    models : list
        Fitted models where one fit is all there is to be (see `must_refit`), else None.
    """

    members: list
    logs: np.ndarray
    seconds: list
    trouble: list
    models: list

    def first_deal(self, n_held_out: int) -> "Outcome":
        """Return the same with each held-out row once, as the first deal of the folds has it."""
        return self._replace(logs=self.logs[:, :n_held_out])


class Clock:
    """Says how much of a time limit is left."""

    def __init__(self, limit: float | None):
        self.limit = limit
        self.start = time.perf_counter()

    def spent(self) -> float:
        """Return the seconds since the start."""
        return time.perf_counter() - self.start

    def left(self) -> float:
        """Return the seconds left, infinite without a limit."""
        return np.inf if self.limit is None else self.limit - self.spent()


def deal_folds(y: np.ndarray, n_folds: int, seed: int) -> np.ndarray:
    """Return the fold of each row, classes dealt out evenly; -1 is never held out.

    A class with fewer examples than folds is in as many folds as it has examples; the only
    example of a class is never held out, because no model could know its class.

    Examples
    --------
    >>> from stakes.auto._recipe import deal_folds
    >>> y = np.array([0] * 6 + [1] * 2 + [2])
    >>> folds = deal_folds(y, 3, seed=0)
    >>> np.bincount(folds[y == 0]), len(set(folds[y == 1])), folds[y == 2]
    (array([2, 2, 2]), 2, array([-1]))
    """
    rng = np.random.RandomState(seed)
    folds = np.full(len(y), -1)
    next_fold = 0
    for label in range(y.max() + 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        if len(rows) < 2:
            continue
        folds[rows] = (next_fold + np.arange(len(rows))) % n_folds
        next_fold = (next_fold + len(rows)) % n_folds
    return folds


def hold_out(y: np.ndarray, seed: int) -> np.ndarray:
    """Return fold 0 for the rows of one held-out part and -1 for the others."""
    share = min(HELD_OUT, MAX_HELD_OUT_ROWS / len(y))
    rng = np.random.RandomState(seed)
    folds = np.full(len(y), -1)
    for label in range(y.max() + 1):
        rows = rng.permutation(np.flatnonzero(y == label))
        n_out = min(max(round(share * len(rows)), 1), len(rows) - 1)
        folds[rows[: max(n_out, 0)]] = 0
    return folds


def plan_folds(y: np.ndarray, cv: int, seed: int) -> np.ndarray:
    """Return the fold of each row in each deal, (n_deals, n).

    Small data are dealt into folds twice, larger ones once; of large data one part is held out.
    """
    if len(y) > FOLD_ROWS:
        return hold_out(y, seed)[None]
    n_deals = 2 if len(y) <= TWO_DEALS_ROWS else 1
    return np.array([deal_folds(y, cv, (seed + deal) % 2**31) for deal in range(n_deals)])


def must_refit(folds: np.ndarray) -> bool:
    """Say whether members are fitted again on all rows: not where few were held out."""
    return float(np.mean(folds >= 0)) > 0.1


def run_members(
    wanted, tables, y, deals, sample_weight, *, n_classes, seed, clock, n_jobs, verbose=0
) -> Outcome:
    """Fit every member out of fold and ask it; a member that fails is reported, not fatal.

    `deals` holds the fold of each row, (n_deals, n); -1 is never held out, in no deal.
    """
    folds = deals[0]
    place = np.cumsum(folds >= 0) - 1
    n_held_out = int(np.sum(folds >= 0))
    tasks, places = [], []
    for deal, dealt in enumerate(deals):
        for fold in np.unique(dealt[dealt >= 0]):
            outside = np.flatnonzero(dealt == fold)
            tasks.append((np.flatnonzero(dealt != fold), outside))
            places.append(deal * n_held_out + place[outside])
    frequencies = class_frequencies(y, n_classes, sample_weight)
    outcome = Outcome([], np.zeros((0, len(deals) * n_held_out, n_classes)), [], [], [])
    logs = []
    chosen = [member for member in RECIPE if member.name in wanted]
    rng = np.random.RandomState(seed)
    seeds = {member.name: int(rng.randint(2**31 - 1)) for member in RECIPE}
    for member in chosen:
        if sample_weight is not None and not member.takes_weights:
            outcome.trouble.append((member.name, "does not take sample_weight"))
            continue
        if outcome.members and clock.left() <= 0:
            outcome.trouble.append((member.name, "time limit"))
            continue
        started = clock.spent()
        common = (sample_weight, n_classes, seeds[member.name])
        done: list = []
        if clock.limit is not None and outcome.members and len(tasks) > 1:
            # The first fold says how long the others will take.
            done = [fit_and_ask(member, tables, y, *tasks[0], *common)]
            to_come = len(tasks) - 1 + must_refit(folds)
            if done[0][3] * to_come > clock.left():
                outcome.trouble.append((member.name, "time limit"))
                continue
        done += Parallel(n_jobs=n_jobs)(
            delayed(fit_and_ask)(member, tables, y, *task, *common) for task in tasks[len(done) :]
        )
        failures = [reason for *_, reason, _ in done if reason]
        if failures:
            outcome.trouble.append((member.name, failures[0]))
            continue
        proba = np.zeros((len(deals) * n_held_out, n_classes))
        for where, (part, *_) in zip(places, done):
            proba[where] = part
        logs.append(log_probabilities(proba, frequencies, len(y)))
        outcome.members.append(member)
        outcome.seconds.append(clock.spent() - started)
        outcome.models.append(None if must_refit(folds) else done[0][1])
        if verbose:
            print(f"[stakes] {member.title}: {outcome.seconds[-1]:.1f} s", flush=True)
    if not logs:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.trouble)
        raise RuntimeError(f"No member could be fitted. {reasons}")
    return outcome._replace(logs=np.array(logs))


def refit_members(
    outcome: Outcome, kept, tables, y, sample_weight, *, n_classes, seed, n_jobs
) -> tuple:
    """Fit the kept members on all rows; return the models and (name, reason) of failures."""
    rng = np.random.RandomState(seed)
    seeds = {member.name: int(rng.randint(2**31 - 1)) for member in RECIPE}
    everyone, nobody = np.arange(len(y)), np.zeros(0, dtype=int)
    todo = [i for i in kept if outcome.models[i] is None]
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(fit_and_ask)(
            *(outcome.members[i], tables, y, everyone, nobody, sample_weight, n_classes),
            seeds[outcome.members[i].name],
        )
        for i in todo
    )
    models = {i: outcome.models[i] for i in kept}
    trouble = []
    for i, (_, model, reason, _) in zip(todo, fitted):
        models[i] = model
        if reason:
            trouble.append((outcome.members[i].name, reason))
    return models, trouble


def choose_blend(logs: np.ndarray, y: np.ndarray, sample_weight=None) -> tuple[list, Blend]:
    """Fit the blend; drop members that hardly count; fit it again. Return who stays, and it.

    The logs may hold several deals of the folds, one after the other: y and the weights are of
    one, and each deal counts by its share.
    """
    n_deals = logs.shape[1] // len(y)
    if n_deals > 1:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        y, sample_weight = np.tile(y, n_deals), np.tile(weight / n_deals, n_deals)
    blend = fit_blend(logs, y, sample_weight)
    total = blend.weights.sum()
    if total <= 0:  # no member knows anything: keep the first, the biases do the work
        kept = [0]
    else:
        kept = np.flatnonzero(blend.weights >= LEAST_SHARE * total).tolist()
    if len(kept) < len(logs):
        blend = fit_blend(logs[kept], y, sample_weight)
    return kept, blend


def honest_blend(logs: np.ndarray, y: np.ndarray, folds: np.ndarray, sample_weight=None) -> Any:
    """Return held-out probabilities of the blend itself, for measuring what it is worth."""
    if len(np.unique(folds)) < 2:  # one held-out part: halve it
        folds = deal_folds(y, 2, seed=0)
        folds = np.where(folds < 0, 0, folds)
    return cross_fitted(logs, y, folds, sample_weight)

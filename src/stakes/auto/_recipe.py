"""The recipe: folds, members out of fold, the blend, and what is kept of them."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stakes._learning.blend import (
    Blend,
    class_frequencies,
    cross_fitted,
    fit_blend,
    log_probabilities,
)
from stakes._learning.draws import run_members
from stakes._learning.folds import deal_folds, hold_out
from stakes.auto._members import FittedMember, Member, Sample, fit_and_ask
from stakes.costs import Costs

FOLD_ROWS = 20_000  # up to here members are asked out of fold; beyond, on one held-out part
TWO_REPEATS_ROWS = 2_000  # up to here twice: which rows fell together matters less then
HELD_OUT = 0.2
MAX_HELD_OUT_ROWS = 20_000
LEAST_SHARE = 0.01  # a member with less than this share of the weights is dropped


class Outcome(NamedTuple):
    """What `try_members` found; lists have one entry per member that worked.

    Parameters
    ----------
    members : list of Member
        Those that worked.
    logs : ndarray of shape (n_members, n_repeats * n_held_out, n_classes)
        Their log probabilities of the held-out rows, one repeat of the folds after the other.
    seconds : list of float
        What each took.
    left_out : list of tuple
        (name, reason) of those that did not.
    models : list
        Fitted models where one fit will do, else None.
    able : list of int
        The members that may be blended: those that counted for something in the first repeat.
    """

    members: list[Member]
    logs: np.ndarray
    seconds: list[float]
    left_out: list[tuple[str, str]]
    models: list[FittedMember | None]
    able: list[int]


class HeldOut(NamedTuple):
    """The examples that were held out: their costs, folds and weights."""

    costs: Costs
    folds: np.ndarray
    weight: np.ndarray | None = None

    def cost_of(self, decisions: np.ndarray) -> dict[str, float]:
        """Return the mean cost of decisions and its 95 % interval (normal approximation).

        Examples
        --------
        >>> from stakes.auto._recipe import HeldOut
        >>> from stakes.costs import Costs
        >>> costs = Costs(np.array([0, 1, 0, 1]), np.array([[0.0, 1.0], [2.0, 0.0]]))
        >>> HeldOut(costs, np.arange(4)).cost_of(np.zeros(4, dtype=int))["cost"]
        1.0
        """
        paid = self.costs.of(decisions)
        weight = np.ones(len(paid)) if self.weight is None else self.weight
        share = weight / weight.sum()
        mean = float(share @ paid)
        error = float(np.sqrt((share**2) @ (paid - mean) ** 2))
        return {"cost": mean, "low": mean - 1.96 * error, "high": mean + 1.96 * error}


def plan_folds(y: np.ndarray, cv: int, seed: int) -> np.ndarray:
    """Return the fold of each row in each repeat, (n_repeats, n); -1 is never held out.

    Small data are put into folds twice, larger ones once; of large data one part is held out.
    """
    if len(y) > FOLD_ROWS:
        share = min(HELD_OUT, MAX_HELD_OUT_ROWS / len(y))
        return np.where(hold_out(y, share, seed, at_least=1), 0, -1)[None]
    if np.bincount(y).max() == 1:  # no class has two examples: each row is as good as the others
        return (np.random.RandomState(seed).permutation(len(y)) % min(cv, len(y)))[None]
    n_repeats = 2 if len(y) <= TWO_REPEATS_ROWS else 1
    return np.array([deal_folds(y, cv, (seed + repeat) % 2**31) for repeat in range(n_repeats)])


def try_members(
    wanted: list[Member],
    sample: Sample,
    repeats: np.ndarray,
    *,
    deadline: float,
    n_jobs: int | None,
    report: Callable[[str], None],
) -> Outcome:
    """Fit every member out of fold and ask it; a member that fails is left out, not fatal.

    `repeats` holds the fold of each row, (n_repeats, n); -1 is never held out, in no repeat. Only
    members that count for something in the first repeat are asked in the second. A forest
    is fitted once: its trees tell of each row what those think that did not see it.
    After `deadline`, on the clock of `time.perf_counter`, no member but a first is begun.
    """
    rows = np.flatnonzero(repeats[0] >= 0)  # held out, in every repeat
    refit = bool(len(rows) > 0.1 * len(sample.y))  # on all rows, unless few were held out
    everyone = np.arange(len(sample.y))
    parts = [
        [
            (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for fold in np.unique(folds[rows])
        ]
        for folds in repeats
    ]
    frequencies = class_frequencies(sample.y, sample.n_classes, sample.weight)
    logs = np.zeros((len(wanted), len(repeats), len(rows), sample.n_classes))
    outcome = Outcome([], logs, [], [], [], [])
    slowest = 0.0  # of all fits so far

    def ask(member: Member, repeat: int, left: float) -> tuple[np.ndarray | None, Any, str]:
        once = member.out_of_bag and len(rows) == len(everyone)
        asked = [(everyone, None)] if once else parts[repeat]
        n_fits = len(asked) + (refit and not once)
        done, reason = _ask_out_of_fold(member, sample, asked, left, n_fits, n_jobs)
        nonlocal slowest
        slowest = max([slowest, *(seconds for *_, seconds in done)])
        if reason:
            return None, None, reason
        proba = np.zeros((len(everyone), sample.n_classes))
        for (_, outside), (part, *_) in zip(asked, done):
            proba[everyone if outside is None else outside] = part
        found = log_probabilities(proba[rows], frequencies, len(everyone))
        return found, None if refit and not once else done[0][1], ""

    for member in wanted:
        started = time.perf_counter()
        left = deadline - started if outcome.members else np.inf
        if left < slowest:  # not even its first fold would end in time
            outcome.left_out.append((member.name, "time limit"))
            continue
        found, model, reason = ask(member, 0, left)
        if found is None:
            outcome.left_out.append((member.name, reason))
            continue
        logs[len(outcome.members)] = found  # in every repeat, until it is asked again
        outcome.members.append(member)
        outcome.seconds.append(time.perf_counter() - started)
        outcome.models.append(model)
        report(f"{member.title}: {outcome.seconds[-1]:.1f} s")
    logs = logs[: len(outcome.members)]
    able = list(range(len(logs)))
    if len(repeats) > 1 and len(logs) > 1:
        able, _ = choose_blend(logs[:, 0], sample.y[rows], sample.take_weight(rows))
    for repeat in range(1, len(repeats)):
        for i in (i for i in able if outcome.models[i] is None):
            started = time.perf_counter()
            found, _, _ = ask(outcome.members[i], repeat, deadline - started)
            if found is not None:  # else what it said first stands
                logs[i, repeat] = found
            outcome.seconds[i] += time.perf_counter() - started
    one_after_another = logs.reshape(len(logs), len(repeats) * len(rows), sample.n_classes)
    return outcome._replace(logs=one_after_another, able=able)


def with_member(
    outcome: Outcome, member: Member, model: FittedMember, sample: Sample, rows: np.ndarray
) -> Outcome:
    """Add a member that was fitted elsewhere, on rows that are not in the sample."""
    frequencies = class_frequencies(sample.y, sample.n_classes, sample.weight)
    proba = model.predict_proba(sample.take_tables(rows))
    logs = log_probabilities(proba, frequencies, len(sample.y))
    n_repeats = outcome.logs.shape[1] // len(rows)
    return outcome._replace(
        members=[*outcome.members, member],
        logs=np.concatenate([outcome.logs, np.tile(logs, (n_repeats, 1))[None]]),
        seconds=[*outcome.seconds, 0.0],
        models=[*outcome.models, model],
        able=[*outcome.able, len(outcome.members)],
    )


def _ask_out_of_fold(
    member: Member, sample: Sample, parts: list, left: float, n_fits: int, n_jobs: int | None
) -> tuple[list, str]:
    """Return what `fit_and_ask` says for each part, or the reason why the member is left out.

    `left` are the seconds that it may take for `n_fits` fits.
    """
    if sample.weight is not None and not member.takes_weights:
        return [], "does not take sample_weight"
    done: list = []
    if 0 < left < np.inf and len(parts) > 1:
        # The first fold says how long the others will take.
        done = [fit_and_ask(member, sample, *parts[0])]
        left -= n_fits * done[0][3]
    if left <= 0:
        return done, "time limit"
    tasks = [(member, sample, *part) for part in parts[len(done) :]]
    done += run_members(fit_and_ask, tasks, n_jobs=n_jobs)
    return done, next((reason for *_, reason, _ in done if reason), "")


def settle_blend(
    outcome: Outcome, sample: Sample, held_out: HeldOut, n_jobs: int | None
) -> tuple[list[int], list[FittedMember], Blend]:
    """Choose who stays and fit them on all rows; those that fail then are left out.

    Returns the positions of the members that stay, their models and the blend; failures are
    added to ``outcome.left_out``.
    """
    everyone, nobody = np.arange(len(sample.y)), np.zeros(0, dtype=int)
    able, others = outcome.able, [i for i in range(len(outcome.members)) if i not in outcome.able]
    while able:
        chosen, blend = choose_blend(outcome.logs[able], held_out.costs.y, held_out.weight)
        kept = [able[i] for i in chosen]
        todo = [i for i in kept if outcome.models[i] is None]
        tasks = [(outcome.members[i], sample, everyone, nobody) for i in todo]
        failed = []
        for i, (_, model, reason, _) in zip(todo, run_members(fit_and_ask, tasks, n_jobs=n_jobs)):
            outcome.models[i] = model
            if reason:
                failed.append(i)
                outcome.left_out.append((outcome.members[i].name, reason))
        if not failed:
            return kept, [model for i in kept if (model := outcome.models[i])], blend
        able = [i for i in able if i not in failed] or others
        others = []
    reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.left_out)
    raise ValueError(f"No member could be fitted. {reasons}")


def choose_blend(
    logs: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> tuple[list[int], Blend]:
    """Fit the blend; drop members that hardly count; fit it again. Return who stays, and it.

    The logs may hold several repeats of the folds, one after the other: y and the weights are
    of one, and each repeat counts by its share.
    """
    n_repeats = logs.shape[1] // len(y)
    if n_repeats > 1:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        y, sample_weight = np.tile(y, n_repeats), np.tile(weight / n_repeats, n_repeats)
    blend = fit_blend(logs, y, sample_weight)
    total = blend.weights.sum()
    # Where no member knows anything the first is kept, and the biases do the work.
    kept = np.flatnonzero(blend.weights >= LEAST_SHARE * total).tolist() if total > 0 else [0]
    if len(kept) < len(logs):
        blend = fit_blend(logs[kept], y, sample_weight)
    return kept, blend


def honest_blend(logs: np.ndarray, held_out: HeldOut) -> np.ndarray:
    """Return held-out probabilities of the blend itself, for measuring what it is worth."""
    y, folds = held_out.costs.y, held_out.folds
    if len(np.unique(folds)) < 2:  # one held-out part: halve it
        folds = np.maximum(deal_folds(y, 2, 0), 0)
    return cross_fitted(logs, y, folds, held_out.weight)

"""The recipe: folds, members out of fold, the blend, and what is kept of them."""

import time
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from stakes._learning.draws import run_members
from stakes._learning.folds import deal_folds, hold_out
from stakes.auto._blend import Blend, class_frequencies, cross_fitted, fit_blend, log_probabilities
from stakes.auto._members import RECIPE, FittedMember, Member, Sample, fit_and_ask
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
        Fitted models where so few rows were held out that one fit will do, else None.
    """

    members: list[Member]
    logs: np.ndarray
    seconds: list[float]
    left_out: list[tuple[str, str]]
    models: list[FittedMember | None]


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
    n_repeats = 2 if len(y) <= TWO_REPEATS_ROWS else 1
    return np.array([deal_folds(y, cv, (seed + repeat) % 2**31) for repeat in range(n_repeats)])


def try_members(
    wanted: Collection[str],
    sample: Sample,
    repeats: np.ndarray,
    *,
    deadline: float,
    n_jobs: int | None,
    report: Callable[[str], None],
) -> Outcome:
    """Fit every member out of fold and ask it; a member that fails is left out, not fatal.

    `repeats` holds the fold of each row, (n_repeats, n); -1 is never held out, in no repeat.
    After `deadline`, on the clock of `time.perf_counter`, no member but a first is begun.
    """
    is_held_out = repeats[0] >= 0
    refit = bool(is_held_out.mean() > 0.1)  # on all rows, unless few were held out
    place, n_held_out = np.cumsum(is_held_out) - 1, int(is_held_out.sum())
    parts, places = [], []
    for repeat, folds in enumerate(repeats):
        for fold in np.unique(folds[is_held_out]):
            outside = np.flatnonzero(folds == fold)
            parts.append((np.flatnonzero(folds != fold), outside))
            places.append(repeat * n_held_out + place[outside])
    frequencies = class_frequencies(sample.y, sample.n_classes, sample.weight)
    outcome = Outcome([], np.zeros(0), [], [], [])
    logs = []
    for member in (member for member in RECIPE if member.name in wanted):
        started = time.perf_counter()
        left = deadline - started if outcome.members else np.inf
        done, reason = _ask_out_of_fold(member, sample, parts, left, len(parts) + refit, n_jobs)
        if reason:
            outcome.left_out.append((member.name, reason))
            continue
        proba = np.zeros((len(repeats) * n_held_out, sample.n_classes))
        for where, (part, *_) in zip(places, done):
            proba[where] = part
        logs.append(log_probabilities(proba, frequencies, len(sample.y)))
        outcome.members.append(member)
        outcome.seconds.append(time.perf_counter() - started)
        outcome.models.append(None if refit else done[0][1])
        report(f"{member.title}: {outcome.seconds[-1]:.1f} s")
    return outcome._replace(logs=np.array(logs))


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
        return [], "time limit"
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
    able = list(range(len(outcome.members)))
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
        able = [i for i in able if i not in failed]
    reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.left_out)
    raise RuntimeError(f"No member could be fitted. {reasons}")


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

"""The recipe: folds, members out of fold, the blend, and what is kept of them."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from stakes._learning.blend import (
    Blend,
    class_frequencies,
    cross_fitted,
    fit_blend,
    log_probabilities,
    who_matters,
)
from stakes._learning.draws import iter_members
from stakes._learning.folds import deal_folds, hold_out
from stakes.auto._members import FittedMember, Member, Sample, fit_and_ask
from stakes.costs import Costs

FOLD_ROWS = 20_000  # up to here members are asked out of fold; beyond, on one held-out part
ASKED_ROWS = 8_000  # beyond, no more of the folds are held out than it takes for so many rows
TWO_REPEATS_ROWS = 2_000  # up to here twice: which rows fell together matters less then
HELD_OUT = 0.2
MAX_HELD_OUT_ROWS = 20_000
SCREEN_ROWS = 1_000  # from here held-out rows show who is of no use
# Those that take long, the longest first: where fits run side by side they are begun first.
LONG = (
    *("deep_network", "forest", "boosting", "slow_boosting", "extra_trees", "kernel"),
    *("network", "small_boosting"),
)
TRIAL_TREES = 50  # of a forest, in the first fold
NO_USE = "of no use in the first fold"
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

    Small data are put into folds twice, larger ones once; of still larger data some of the folds
    are held out, and of large data one part.
    """
    if len(y) > FOLD_ROWS:
        share = min(HELD_OUT, MAX_HELD_OUT_ROWS / len(y))
        return np.where(hold_out(y, share, seed, at_least=1), 0, -1)[None]
    if np.bincount(y).max() == 1:  # no class has two examples: each row is as good as the others
        return (np.random.RandomState(seed).permutation(len(y)) % min(cv, len(y)))[None]
    n_repeats = 2 if len(y) <= TWO_REPEATS_ROWS else 1
    repeats = np.array([deal_folds(y, cv, (seed + repeat) % 2**31) for repeat in range(n_repeats)])
    n_asked = -(-ASKED_ROWS * cv // len(y))
    return repeats if n_asked >= cv else np.array([_some_folds(f, y, n_asked) for f in repeats])


def _some_folds(folds: np.ndarray, y: np.ndarray, n_asked: int) -> np.ndarray:
    """Return some of the folds, -1 for the rest; of each class that was dealt one row is asked."""
    asked = np.where(folds < n_asked, folds, -1)
    for label in np.setdiff1d(y[folds >= 0], y[asked >= 0]):
        asked[np.flatnonzero((y == label) & (folds >= 0))[0]] = 0
    return asked


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

    `repeats` holds the fold of each row, (n_repeats, n); -1 is never held out, in no repeat.
    Where there are rows enough, members that the first fold shows to be of no use are done
    with; only those that count for something in the first repeat are asked in the second. A
    forest is fitted once: its trees tell of each row what those think that did not see it.
    After `deadline`, on the clock of `time.perf_counter`, no member but a first is begun;
    without one all are asked side by side.
    """
    asking = Asking(sample, repeats, n_jobs)
    rows = asking.rows
    outcome = Outcome([], np.zeros(0), [], [], [], [])
    if sample.weight is not None:
        unfit = [member.name for member in wanted if not member.takes_weights]
        outcome.left_out.extend((name, "does not take sample_weight") for name in unfit)
        wanted = [member for member in wanted if member.takes_weights]
    first: dict[str, tuple] = {}  # what members said of the first fold
    in_time = np.isfinite(deadline)
    if not in_time and len(wanted) > 1 and asking.n_folds > 1 and len(rows) >= SCREEN_ROWS:
        first = asking.first_fold(wanted, screening=True)
        useful = asking.useful(wanted, first)
        first = {name: found for name, found in first.items() if name not in asking.on_trial}
        outcome.left_out.extend((m.name, NO_USE) for m in wanted if m.name not in useful)
        wanted = [member for member in wanted if member.name in useful]
    logs: list[np.ndarray] = []
    slowest = 0.0  # of all fits so far
    due = 0.0  # what the fits on all rows of those that worked will take
    for group in [[member] for member in wanted] if in_time else [wanted]:
        left = deadline - due - time.perf_counter() if outcome.members else np.inf
        if left < slowest:  # not even its first fold would end in time
            outcome.left_out.append((group[0].name, "time limit"))
            continue
        if left < np.inf and asking.n_folds > 1:
            # The first fold says how long the others will take.
            first = asking.first_fold(group)
            seconds = first[group[0].name][-1]
            slowest = max(slowest, seconds)
            if left <= asking.n_fits(group[0]) * seconds:
                outcome.left_out.append((group[0].name, "time limit"))
                continue
        answers = {}
        for member, answer in asking.out_of_fold(group, 0, first):
            answers[member.name] = answer
            if answer.logs is not None:
                report(f"{member.title}: {answer.seconds:.1f} s")
        for member in group:
            answer = answers[member.name]
            slowest = max(slowest, answer.slowest)
            if answer.logs is None:
                outcome.left_out.append((member.name, answer.reason))
                continue
            logs.append(np.tile(answer.logs, (len(repeats), 1, 1)))  # until it is asked again
            outcome.members.append(member)
            outcome.seconds.append(answer.seconds)
            outcome.models.append(answer.model)
            due += answer.slowest if answer.model is None else 0.0
    shape = (len(logs), len(repeats), len(rows), sample.n_classes)
    found = np.array(logs).reshape(shape)
    able = list(range(len(found)))
    if len(repeats) > 1 and len(found) > 1:
        able, _ = choose_blend(found[:, 0], sample.y[rows], sample.take_weight(rows))
    again = [i for i in able if outcome.models[i] is None]
    for repeat in range(1, len(repeats)):
        for chosen in [[i] for i in again] if in_time else [again]:
            members = [outcome.members[i] for i in chosen]
            left = deadline - due - time.perf_counter()
            if in_time and left <= sum(outcome.seconds[i] for i in chosen):
                continue  # what it said first stands
            position = {outcome.members[i].name: i for i in chosen}
            for member, answer in asking.out_of_fold(members, repeat, {}):
                i = position[member.name]
                if answer.logs is not None:
                    found[i, repeat] = answer.logs
                outcome.seconds[i] += answer.seconds
    one_after_another = found.reshape(len(found), len(repeats) * len(rows), sample.n_classes)
    return outcome._replace(logs=one_after_another, able=able)


class Answer(NamedTuple):
    """What a member said of all held-out rows, or the reason why it said nothing."""

    logs: np.ndarray | None
    model: FittedMember | None
    reason: str
    seconds: float
    slowest: float


class Asking:
    """Members are asked of held-out rows, by folds or, where they can, out of bag.

    Parameters
    ----------
    sample : Sample
        What they learn from.
    repeats : ndarray of shape (n_repeats, n)
        The fold of each row; -1 is never held out.
    n_jobs : int or None
        Fits side by side.
    """

    def __init__(self, sample: Sample, repeats: np.ndarray, n_jobs: int | None):
        self.sample, self.n_jobs = sample, n_jobs
        self.rows = np.flatnonzero(repeats[0] >= 0)  # held out, in every repeat
        self.everyone = np.arange(len(sample.y))
        self.parts = [
            [
                (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
                for fold in np.unique(folds[self.rows])
            ]
            for folds in repeats
        ]
        self.n_folds = len(self.parts[0])
        # On all rows once more, unless few were held out.
        self.refit = bool(len(self.rows) > 0.1 * len(sample.y))
        self.frequencies = class_frequencies(sample.y, sample.n_classes, sample.weight)
        self.seconds: dict[str, float] = {}  # of the first fit of each member
        self.on_trial: set[str] = set()  # whose first fit shows only whether they matter

    def longest_first(self, members: list[Member]) -> list[Member]:
        """Return the members in the order in which side by side they end soonest.

        Known seconds count more than what is expected; who knows how long the user's own take.
        """
        rank = {name: i for i, name in enumerate(LONG)}
        own = [member.name for member in members if member.estimator is not None]

        def key(member: Member) -> tuple:
            expected = -1 if member.name in own else rank.get(member.name, len(LONG))
            return -self.seconds.get(member.name, np.inf), expected

        return sorted(members, key=key)

    def parts_for(self, member: Member, repeat: int = 0) -> list:
        """Return what a member is fitted on and asked of, in turn."""
        if member.out_of_bag and self.refit and len(self.everyone) <= FOLD_ROWS:
            return [(self.everyone, None)]
        return self.parts[repeat]

    def n_fits(self, member: Member) -> int:
        """Return how often a member is fitted in all, if it stays."""
        parts = self.parts_for(member)
        return len(parts) + (self.refit and parts[0][1] is not None)

    def first_fold(self, members: list[Member], screening: bool = False) -> dict[str, tuple]:
        """Return what `fit_and_ask` says of the first part of each member, by name.

        To screen them, a forest that would be fitted on all rows at once is tried with some of
        its trees, on the first fold.
        """
        members = self.longest_first(members)
        if screening:
            self.on_trial = {m.name for m in members if self.parts_for(m)[0][1] is None}
        tasks = [
            (member, self.sample, *self.parts[0][0], {"n_estimators": TRIAL_TREES})
            if member.name in self.on_trial
            else (member, self.sample, *self.parts_for(member)[0])
            for member in members
        ]
        done = iter_members(fit_and_ask, tasks, n_jobs=self.n_jobs)
        found = {member.name: answer for member, answer in zip(members, done)}
        self.seconds |= {n: taken for n, (*_, taken) in found.items() if n not in self.on_trial}
        return found

    def useful(self, members: list[Member], first: dict[str, tuple]) -> set[str]:
        """Return who matters by the first fold; those that failed stay, to say why."""
        fold = self.parts[0][0][1]
        able = [member for member in members if not first[member.name][2]]
        if not able:
            return {member.name for member in members}
        logs = []
        for member in able:
            proba = first[member.name][0]
            logs.append(log_probabilities(proba, self.frequencies, len(self.everyone)))
        weight = self.sample.take_weight(fold)
        kept = who_matters(np.array(logs), self.sample.y[fold], dearest_first(able), weight)
        failed = {member.name for member in members} - {member.name for member in able}
        return failed | {able[i].name for i in kept}

    def out_of_fold(
        self, members: list[Member], repeat: int, first: dict[str, tuple]
    ) -> Iterator[tuple[Member, Answer]]:
        """Yield what each member says; `first` holds what it said of its first part already."""
        members = self.longest_first(members)
        known = {m.name: [first[m.name]] if m.name in first else [] for m in members}
        asked = {m.name: self.parts_for(m, repeat) for m in members}
        tasks = [
            (member, self.sample, *part)
            for member in members
            for part in asked[member.name][len(known[member.name]) :]
        ]
        found = iter_members(fit_and_ask, tasks, n_jobs=self.n_jobs)
        for member in members:
            parts = asked[member.name]
            done = [*known[member.name], *islice(found, len(parts) - len(known[member.name]))]
            yield member, self._joined(parts, done)

    def _joined(self, parts: list, done: list) -> Answer:
        """Return one answer from those of the parts."""
        seconds = [taken for *_, taken in done]
        reason = next((why for *_, why, _ in done if why), "")
        if reason:
            return Answer(None, None, reason, sum(seconds), max(seconds))
        once = parts[0][1] is None
        proba = np.zeros((len(self.everyone), self.sample.n_classes))
        for (_, outside), (part, *_) in zip(parts, done):
            proba[self.everyone if once else outside] = part
        logs = log_probabilities(proba[self.rows], self.frequencies, len(self.everyone))
        model = None if self.refit and not once else done[0][1]
        return Answer(logs, model, "", sum(seconds), max(seconds))


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
        logs, dear = outcome.logs[able], list[int]()
        if len(held_out.costs) >= SCREEN_ROWS:
            dear = dearest_first([outcome.members[i] for i in able])
        chosen, blend = choose_blend(logs, held_out.costs.y, held_out.weight, dear)
        kept = [able[i] for i in chosen]
        todo = [i for i in kept if outcome.models[i] is None]
        todo.sort(key=lambda i: -outcome.seconds[i])  # side by side these end soonest
        tasks = [(outcome.members[i], sample, everyone, nobody) for i in todo]
        fitted = dict(zip(todo, iter_members(fit_and_ask, tasks, n_jobs=n_jobs)))
        failed = []
        for i in sorted(todo):
            _, outcome.models[i], reason, _ = fitted[i]
            if reason:
                failed.append(i)
                outcome.left_out.append((outcome.members[i].name, reason))
        if not failed:
            return kept, [model for i in kept if (model := outcome.models[i])], blend
        able = [i for i in able if i not in failed] or others
        others = []
    reasons = "; ".join(f"{name}: {reason}" for name, reason in outcome.left_out)
    raise ValueError(f"No member could be fitted. {reasons}")


def dearest_first(members: list[Member]) -> list[int]:
    """Return the positions of the members that cost something, the dearest first."""
    priced = [i for i, member in enumerate(members) if member.price > 0]
    return sorted(priced, key=lambda i: -members[i].price)


def choose_blend(
    logs: np.ndarray,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    dear: Sequence[int] = (),
) -> tuple[list[int], Blend]:
    """Fit the blend; drop members that hardly count; fit it again. Return who stays, and it.

    Those of `dear`, in this order, are dropped where the others do as well (`who_matters`). The
    logs may hold several repeats of the folds, one after the other: y and the weights are of
    one, and each repeat counts by its share.
    """
    n_repeats = logs.shape[1] // len(y)
    if n_repeats > 1:
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        y, sample_weight = np.tile(y, n_repeats), np.tile(weight / n_repeats, n_repeats)
    blend = fit_blend(logs, y, sample_weight)
    total = blend.weights.sum()
    # Where no member knows anything the first is kept, and the biases do the work.
    kept = np.flatnonzero(blend.weights >= LEAST_SHARE * total).tolist() if total > 0 else [0]
    if order := [kept.index(i) for i in dear if i in kept]:
        kept = [kept[i] for i in who_matters(logs[kept], y, order, sample_weight)]
    if len(kept) < len(logs):
        blend = fit_blend(logs[kept], y, sample_weight)
    return kept, blend


def honest_blend(logs: np.ndarray, held_out: HeldOut) -> np.ndarray:
    """Return held-out probabilities of the blend itself, for measuring what it is worth."""
    y, folds = held_out.costs.y, held_out.folds
    if len(np.unique(folds)) < 2:  # one held-out part: halve it
        folds = np.maximum(deal_folds(y, 2, 0), 0)
    return cross_fitted(logs, y, folds, held_out.weight)

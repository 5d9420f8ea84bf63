"""The bank: class probabilities of every method on every split, stored as they come.

Data: every multi-class set of the data folder with at most 20,000 rows, classes with fewer
than 6 rows left out; stratified splits, 2/3 to train and 1/3 to test. Splits are seeded by (set,
split), so that every method meets the same ones. A file holds the probabilities of the test
rows by one method; what is there is not made again.

Rivals have their default settings and one thread; categories are one-hot encoded, missing numbers
are left to the learner. CatBoost, TabPFN and AutoGluon are no dependencies: they are asked where
they can be imported. AutoGluon wants an environment of its own, with PyTorch for its calibration: let
`run --methods AutoGluon` add to the same bank from there. TabPFN is v1, whose weights are in the source distribution of `pfns` 0.3.0: unpack it, put
the folder on PYTHONPATH, and mend it for today's PyTorch and scikit-learn (`Optional` from `typing`,
`ensure_all_finite`, `weights_only=False`, epoch 42 instead of -1). It takes at most 1,024 rows,
100 columns and 10 classes.
"""

import contextlib
import hashlib
import io
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from stakes.datasets import load_dataset

MIN_CLASS = 6
SETS = (  # from quick to slow
    *("iris", "wine", "bridges2", "new_thyroid", "glass", "balance", "ecoli", "dermatology"),
    *("flags", "vehicle", "horse_colic", "audiology", "car", "annealing", "flare2", "flare"),
    *("yeast", "segmentation", "splice", "satimage", "nursery", "letter"),
)
# Of sets with more rows there are fewer splits: (rows up to, splits, in every so manieth round);
# their first comes in this round.
ROUNDS = ((1_500, 20, 1), (3_500, 5, 4), (20_000, 2, 8))
FIRST_OF_LARGE = 2
AUTOGLUON_SECONDS = (30, 60)  # up to 1,500 training rows, and beyond
OURS = "StakesClassifier"


# -- data ------------------------------------------------------------------------------------


class Split(NamedTuple):
    """One split of one set: its two tables, the classes as positions, their shares, a seed."""

    X_train: pd.DataFrame
    y_train: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    shares: np.ndarray
    seed: int


@cache
def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with its categories, and the classes as positions; rare ones left out."""
    data = load_dataset(name)
    _, codes, counts = np.unique(
        np.asarray(data.y).astype(str), return_inverse=True, return_counts=True
    )
    keep = (counts >= MIN_CLASS)[codes]
    return data.X[keep].reset_index(drop=True), np.unique(codes[keep], return_inverse=True)[1]


def seed_of(name: str, split: int) -> int:
    """Return the seed of a split."""
    return int(hashlib.sha256(f"{name}/{split}".encode()).hexdigest()[:8], 16) % 2**31


def take_split(name: str, split: int) -> Split:
    """Return a split of a set."""
    X, y = load(name)
    seed = seed_of(name, split)
    train, test = train_test_split(
        np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed
    )
    return Split(X.iloc[train], y[train], X.iloc[test], y[test], np.bincount(y) / len(y), seed)


def plan(sets: tuple[str, ...] = SETS, rounds: int = 20) -> Iterator[tuple[str, int]]:
    """Yield (set, split) in rounds over the sets, so that what there is at any time is balanced."""
    due = []
    for place, name in enumerate(sets):
        n_splits, every = next(
            (n, every) for rows, n, every in ROUNDS if len(load(name)[1]) <= rows
        )
        first = min(every - 1, FIRST_OF_LARGE)
        due += [(first + split * every, place, name, split) for split in range(n_splits)]
    for at, _, name, split in sorted(due):
        if at < rounds:
            yield name, split


def one_hot(X_train: pd.DataFrame, X_test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return categories as indicator columns (missing is one of them), numbers as they are."""
    both, parts = pd.concat([X_train, X_test]), []
    for _, values in both.items():
        if pd.api.types.is_numeric_dtype(values):
            parts.append(values.to_numpy(dtype=np.float64, na_value=np.nan)[:, None])
        else:
            text = values.astype(object).where(values.notna(), "missing").astype(str)
            seen = pd.Index(text.iloc[: len(X_train)].unique()).sort_values()
            parts.append((text.to_numpy()[:, None] == seen.to_numpy()[None, :]).astype(np.float64))
    table = np.hstack(parts)
    return table[: len(X_train)], table[len(X_train) :]


# -- methods: (Split) -> probabilities of its test rows -----------------------------------------


class Memo(ClassifierMixin, BaseEstimator):
    """A learner whose fits on the same rows are remembered.

    The raw and the calibrated forms of one learner share their fits; the seconds of a
    remembered fit are counted each time it is used.
    """

    seconds = 0.0
    fits: dict = {}

    def __init__(self, estimator=None):
        self.estimator = estimator

    def fit(self, X, y):
        """Fit, or remember."""
        key = hashlib.sha256(repr((self.estimator, X.shape)).encode() + X.tobytes() + y.tobytes())
        if key.digest() not in Memo.fits:
            start = time.process_time()
            model = clone(self.estimator).fit(X, y)
            Memo.fits[key.digest()] = model, time.process_time() - start
        else:
            Memo.seconds += Memo.fits[key.digest()][1]
        self.estimator_ = Memo.fits[key.digest()][0]
        self.classes_ = self.estimator_.classes_
        return self

    def predict_proba(self, X):
        """Ask the learner."""
        return self.estimator_.predict_proba(X)


def random_forest(seed: int):
    return RandomForestClassifier(n_jobs=1, random_state=seed)


def lightgbm(seed: int):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def xgboost(seed: int):
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=seed)


def catboost(seed: int):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False
    )


def ask_rival(learner: Callable, calibration: str | None, split: Split) -> np.ndarray:
    """Return what a learner says, calibrated with three folds where that is asked for."""
    X_train, X_test = one_hot(split.X_train, split.X_test)
    model = Memo(learner(split.seed))
    if calibration:
        model = CalibratedClassifierCV(model, method=calibration, cv=3)
    return model.fit(X_train, split.y_train).predict_proba(X_test)


def ask_tabpfn(split: Split) -> np.ndarray:
    """Return what TabPFN v1 says; categories are numbered, as its authors advise."""
    from pfns.scripts import tabpfn_interface

    both = pd.concat([split.X_train, split.X_test])
    X = np.column_stack(
        [
            values.to_numpy(dtype=np.float64, na_value=np.nan)
            if pd.api.types.is_numeric_dtype(values)
            else values.astype("category").cat.codes.to_numpy(dtype=np.float64)
            for _, values in both.items()
        ]
    )
    n_train = len(split.y_train)
    with contextlib.redirect_stdout(io.StringIO()):
        unpacked = Path(tabpfn_interface.__file__).parents[2]
        model = tabpfn_interface.TabPFNClassifier(base_path=unpacked, seed=split.seed)
        return model.fit(X[:n_train], split.y_train).predict_proba(X[n_train:])


def ask_autogluon(split: Split, seconds: float | None = None) -> np.ndarray:
    """Return what AutoGluon says; its clock counts seconds of the processor, whoever else is at it."""
    from autogluon.tabular import TabularPredictor

    names = [f"column_{i}" for i in range(split.X_train.shape[1])]
    table = split.X_train.set_axis(names, axis=1).assign(label=split.y_train)
    seconds = seconds or AUTOGLUON_SECONDS[len(table) > ROUNDS[0][0]]
    with mock.patch("time.time", time.process_time), tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor(
            "label", problem_type="multiclass", eval_metric="log_loss", path=folder, verbosity=0
        )
        model.fit(
            table,
            presets="best_quality",
            time_limit=seconds,
            calibrate=True,
            dynamic_stacking=False,
            num_cpus=1,
            num_gpus=0,
            ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        )
        return model.predict_proba(split.X_test.set_axis(names, axis=1)).to_numpy()


def ask_ours(split: Split) -> np.ndarray:
    """Return what the default says; the blend does not depend on the costs."""
    from stakes.auto import StakesClassifier

    model = StakesClassifier(random_state=split.seed, n_jobs=1)
    return model.fit(split.X_train, split.y_train).predict_proba(split.X_test)


METHODS: dict[str, Callable[[Split], np.ndarray]] = {OURS: ask_ours}


def _enter(title: str, learner: Callable, calibrations: tuple[str | None, ...]) -> None:
    for calibration in calibrations:
        name = f"{title} + {calibration}" if calibration else title
        METHODS[name] = lambda split, how=calibration: ask_rival(learner, how, split)


_enter("RF", random_forest, (None, "isotonic", "temperature"))
_enter("LightGBM", lightgbm, (None, "isotonic", "temperature"))
_enter("XGBoost", xgboost, (None, "isotonic", "temperature"))
_enter("CatBoost", catboost, (None,))
METHODS["TabPFN"] = ask_tabpfn
METHODS["AutoGluon"] = ask_autogluon


# -- the store -------------------------------------------------------------------------------


class Bank(NamedTuple):
    """A folder of probabilities: ``<set>/<split>/<method>.npz``."""

    folder: Path

    def path(self, name: str, split: int, method: str) -> Path:
        """Return where the probabilities of a method are."""
        return self.folder / name / str(split) / f"{method.replace(' ', '')}.npz"

    def read(self, name: str, split: int, method: str) -> tuple[np.ndarray, float] | None:
        """Return the probabilities and the processor seconds; None where there are none yet."""
        path = self.path(name, split, method)
        if not path.exists():
            return None
        with np.load(path) as found:
            return found["proba"].astype(np.float64), float(found["seconds"])

    def write(self, name: str, split: int, method: str, proba: np.ndarray, seconds: float) -> None:
        """Store probabilities, whole or not at all."""
        path = self.path(name, split, method)
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".part")
        with scratch.open("wb") as file:
            np.savez(file, proba=proba.astype(np.float32), seconds=seconds)
        scratch.replace(path)


def fill(
    bank: Bank, sets: tuple[str, ...] = SETS, methods: tuple[str, ...] = (), rounds: int = 20
) -> None:
    """Fit what the bank lacks; a method that cannot be imported or fails is said and passed over."""
    methods = methods or tuple(METHODS)
    absent = set()
    for name, split in plan(sets, rounds):
        todo = [m for m in methods if not bank.path(name, split, m).exists() and m not in absent]
        parts = take_split(name, split) if todo else None
        Memo.fits.clear()
        for method in todo:
            Memo.seconds, start = 0.0, time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    proba = METHODS[method](parts)
            except ImportError as error:
                absent.add(method)
                print(f"{method} is not asked: {error}", flush=True)
                continue
            except Exception as error:  # the others go on; it is tried again in the next run
                print(
                    f"{name} {split} {method} failed: {type(error).__name__}: {error}", flush=True
                )
                continue
            seconds = time.process_time() - start + Memo.seconds
            bank.write(name, split, method, proba, seconds)
            print(f"{name:13} {split:3} {method:24} {seconds:8.2f} s", flush=True)

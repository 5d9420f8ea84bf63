"""The catalogue: what the project knows of each data set before it is read."""

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from stakes.utils._arrays import quoted

TARGET = "target"
# The columns of a file that say what a decision costs on that row.
COST_COLUMNS = ("cost_fp", "cost_fn", "cost_tp", "cost_tn")


@dataclass(frozen=True)
class Target:
    """One column that may be predicted: its labels and how many rows have each."""

    column: str
    labels: tuple[str, ...]
    counts: tuple[int, ...]

    def class_counts(self) -> dict[str, int]:
        """Return label -> number of rows."""
        return dict(zip(self.labels, self.counts))

    def encode(self, texts: Any) -> np.ndarray:
        """Return the labels as numbers where all of them are whole numbers, else as text."""
        # Whole numbers as people write them: "3", not "03".
        whole = all(label.isdigit() and str(int(label)) == label for label in self.labels)
        return np.asarray(texts, dtype=int if whole else str)


@dataclass(frozen=True)
class Variant:
    """A subset of the rows, classes or features that publications used."""

    name: str
    about: str
    rows: int
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    merge: dict[str, list[str]] = field(default_factory=dict)
    first: int | None = None
    positive: str | None = None
    features: tuple[str, ...] = ()

    def select(self, table: Any) -> Any:
        """Return the rows of the subset."""
        table = table.iloc[: self.first]
        table = table[~table[TARGET].isin(self.drop)]
        if self.keep:
            table = table[table[TARGET].isin(self.keep)]
        return table if self.positive is None else table[table[self.positive] > 0]


@dataclass(frozen=True)
class Entry:
    """All that the catalogue says of one data set."""

    name: str
    title: str
    about: str
    donor: str
    licence: str
    papers: tuple[str, ...]
    rows: int
    features: tuple[str, ...]
    categorical: tuple[str, ...]
    mean_abs: dict[str, float]
    levels: dict[str, int]
    targets: dict[str, Target]
    variants: dict[str, Variant]
    missing: int = 0
    other: tuple[str, ...] = ()
    builtin: bool = False
    costs_per_row: bool = False
    cost_labels: tuple[str, ...] = ()
    cost_matrix: tuple[list[float], ...] = ()
    openml: dict[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the file, in order."""
        return (*self.features, *self.other, TARGET)

    @property
    def cost_columns(self) -> tuple[str, ...]:
        """Those of them that say what decisions cost on a row."""
        return COST_COLUMNS if self.costs_per_row else ()

    @property
    def costs_kind(self) -> str:
        """Which costs belong to it: "class", "example" or ""."""
        if self.costs_per_row:
            return "example"
        return "class" if self.cost_matrix or self.name == "cheques" else ""

    def target(self, name: str | None) -> Target:
        """Return the target of that name; None or "target" is the usual one."""
        target = self.targets.get(TARGET if name is None else str(name).removeprefix("target_"))
        if target is None:
            known = quoted(self.targets)
            raise ValueError(f"{self.name!r} has no target {name!r}; it has {known}.")
        return target


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Entry]:
    """Read the catalogue of the package, name -> entry."""
    text = files("stakes.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: _entry(name, facts) for name, facts in sorted(tomllib.loads(text).items())}


def find(name: str, variant: str | None = None) -> tuple[Entry, Variant | None]:
    """Return the entry and variant of a name, which may be that of a variant itself.

    Examples
    --------
    >>> from stakes.datasets._catalogue import find
    >>> entry, variant = find("nursery_s")
    >>> entry.name, variant.name
    ('nursery', 'nursery_s')
    >>> find("vehicel")
    Traceback (most recent call last):
        ...
    ValueError: There is no data set 'vehicel'. Near names: 'vehicle', ...
    """
    entries = catalogue()
    owners = {v: entry.name for entry in entries.values() for v in entry.variants}
    if name in owners:
        if variant not in (None, name):
            raise ValueError(f"{name!r} is already a variant of {owners[name]!r}: drop variant=.")
        name, variant = owners[name], name
    if name not in entries:
        near = difflib.get_close_matches(str(name).lower(), [*entries, *owners], n=4, cutoff=0.5)
        hint = f"Near names: {quoted(near)}." if near else "No name is near it."
        raise ValueError(f"There is no data set {name!r}. {hint} list_datasets() shows them all.")
    entry = entries[name]
    if variant is None:
        return entry, None
    if variant not in entry.variants:
        known = quoted(entry.variants) or "none"
        raise ValueError(f"{name!r} has no variant {variant!r}; it has {known}.")
    return entry, entry.variants[variant]


def _entry(name: str, facts: dict[str, Any]) -> Entry:
    said = _frozen(facts)
    features, named = said["features"], said.get("categorical", ())
    categorical = features if named == "all" else named
    numeric = [feature for feature in features if feature not in categorical]
    targets = {TARGET: Target(TARGET, said.pop("labels"), said.pop("counts"))}
    for other, facts_of in said.pop("targets", {}).items():
        targets[other] = Target(f"target_{other}", **_frozen(facts_of))
    derived = {
        "categorical": categorical,
        "mean_abs": dict(zip(numeric, said.get("mean_abs", ()), strict=True)),
        "levels": dict(zip(categorical, said.get("levels", ()), strict=True)),
        "variants": {v: Variant(v, **_frozen(own)) for v, own in said.get("variants", {}).items()},
    }
    return Entry(name=name, targets=targets, **(said | derived))


def _frozen(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a copy with tuples in place of lists."""
    return {key: tuple(v) if isinstance(v, list) else v for key, v in facts.items()}

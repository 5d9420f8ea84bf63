"""Constants in prose are those of the code, and of the stored results."""

import re
from pathlib import Path

import numpy as np

from stakes._learning.blend import SHARPNESS_SPREAD, UNSEEN_BY_BLEND
from stakes.auto import StakesClassifier
from stakes.auto._members import OF_TEXT, RECIPE
from stakes.bagging import BacingClassifier
from stakes.decision import LachicheFlach
from stakes.reproduce._claims import check_claims
from stakes.reproduce._run import load_results
from stakes.tree import CostTreeClassifier

ROOT = Path(__file__).parents[1]
WORDS = {8: "Eight", 9: "Nine", 10: "Ten", 11: "Eleven", 12: "Twelve"}


def prose(documented) -> str:
    """Return a docstring as one line."""
    return " ".join(documented.__doc__.split())


def test_the_default_says_how_it_is_made():
    said = prose(StakesClassifier)
    recipe = [member.name for member in RECIPE if member.by_default]
    assert f"{WORDS[len(recipe)]} different classifiers give out-of-fold" in said
    assert f"(log-normal, {SHARPNESS_SPREAD:g})" in said
    assert f"{UNSEEN_BY_BLEND:g} examples of no particular class are then mixed in" in said
    names, _, others = said.partition("names of the recipe (")[2].partition("), of others (")
    assert re.findall(r'"(\w+)"', names) == [*recipe, *(member.name for member in OF_TEXT)]
    others = re.findall(r'"(\w+)"', others.partition(")")[0])
    assert others == [member.name for member in RECIPE if not member.by_default]


def test_lachiche_and_flach_correlate_as_the_stored_results_do():
    claims = check_claims(load_results(ROOT / "results"))
    told = [re.search(r"correlation ([\d.]+)", claim.figures) for claim in claims]
    rarity, random = (found[1] for found in told if found)
    said = f"correlate with the printed ones by {rarity} (rarity costs) and {random} (random costs"
    assert said in prose(LachicheFlach)


def test_bags_are_drawn_one_after_the_other_as_the_chapter_says():
    chapter = (ROOT / "docs" / "guide" / "bagging.md").read_text()
    assert "1. Draw a bag." in chapter
    assert "go to 1 for the next member" in chapter
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    tree = CostTreeClassifier(max_depth=2)
    made = BacingClassifier(tree, n_estimators=4, random_state=0).fit(X, y)
    plain = BacingClassifier(tree, n_estimators=4, random_state=0, adapt=False).fit(X, y)
    bags = [np.sort(rows).tolist() for rows in made.estimators_samples_]
    assert bags == [np.sort(rows).tolist() for rows in plain.estimators_samples_]
    assert len(set(map(tuple, bags))) == 4  # a new one for each member
    assert (made.cost_history_[0] == 1).all()  # costs follow the members before
    assert not (made.cost_history_[3] == made.cost_history_[1]).all()

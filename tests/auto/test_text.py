"""The default learns from text: articles, short texts, text beside numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from tests.articles import make_articles

from stakes.auto import StakesClassifier
from stakes.compare import fit_model
from stakes.costs import CostMatrix
from stakes.decision import CostDecisionClassifier

C = np.array(
    [[0, 1, 2, 1, 3], [4, 0, 1, 2, 1], [2, 6, 0, 1, 5], [1, 1, 3, 0, 1], [9, 2, 1, 4, 0.0]]
)
PRICES = CostMatrix(C, labels=["business", "entertainment", "politics", "sport", "tech"])
QUICK = {"members": ["linear", "words", "word_counts"], "cv": 3, "random_state": 0}


def paid(y, decided, classes):
    return C[np.searchsorted(classes, y), np.searchsorted(classes, decided)].sum()


def rivals():
    """Yield what somebody would try first, each with the decision of least expected cost."""
    import lightgbm

    by_words = {"min_df": 2, "sublinear_tf": True}
    yield make_pipeline(CountVectorizer(min_df=2), MultinomialNB()), None
    yield (
        make_pipeline(TfidfVectorizer(**by_words), LogisticRegression(max_iter=200)),
        "temperature",
    )
    yield (
        make_pipeline(
            TfidfVectorizer(**by_words, ngram_range=(1, 2), max_features=3000),
            lightgbm.LGBMClassifier(n_estimators=30, n_jobs=1, verbose=-1, random_state=0),
        ),
        None,
    )


def test_articles_cost_about_as_little_as_by_the_best_simple_rival():
    X, y = make_articles(1200)
    classes = np.unique(y)
    costs = []
    for rival, calibration in rivals():
        if calibration is not None:
            rival = CostDecisionClassifier(rival, cost_matrix=PRICES, calibration=calibration)
        proba = rival.fit(X["article"][:700], y[:700]).predict_proba(X["article"][700:])
        costs.append(paid(y[700:], classes[(proba @ C).argmin(axis=1)], classes))
    model = StakesClassifier(PRICES, **QUICK).fit(X[:700], y[:700])
    assert paid(y[700:], model.predict(X[700:]), classes) <= 1.10 * min(costs)


def test_the_members_of_text_are_asked_where_there_is_text_alone():
    X, y = make_articles(120)
    model = StakesClassifier(PRICES, **QUICK).fit(X, y)
    names = [member["name"] for member in model.explain().to_dict()["members"]]
    assert names == ["linear", "words", "word_counts"]
    numbers = np.random.default_rng(0).normal(size=(120, 2))
    model = StakesClassifier(PRICES, **QUICK).fit(numbers, y)
    assert [m["name"] for m in model.explain().to_dict()["members"]] == ["linear"]
    with pytest.raises(ValueError, match="The members are for text, and the table has none"):
        StakesClassifier(PRICES, members=["words"]).fit(numbers, y)


def short_texts(n=300, seed=0):
    """Return short texts, numbers and classes; both say something of the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    kind = np.array([["parcel", "letter", "stamp"], ["loan", "credit", "mortgage"]])
    note = [f"the {rng.choice(kind[label])} of {rng.integers(1000)}" for label in y]
    return pd.DataFrame({"note": note, "size": rng.normal(size=n) + y}), y


@pytest.mark.parametrize("what", ["mixed", "alone", "gaps", "words", "ids", "new words"])
def test_text_of_every_sort_is_learned(what):
    X, y = short_texts()
    if what in ("alone", "new words"):
        X = X[["note"]]
    elif what == "gaps":
        X = X.assign(note=X["note"].where(np.arange(len(X)) % 5 > 0))
    elif what == "words":
        X = X.assign(note=[text.split()[1] + text.split()[3] for text in X["note"]])
    elif what == "ids":
        X = X.assign(id=[f"c{i:06d}" for i in range(len(X))])
    model = StakesClassifier([[0, 1], [5, 0]], **QUICK).fit(X[:200], y[:200])
    new = X[200:]
    if what == "new words":  # known by their letters alone
        new = new.assign(
            note=new["note"].str.replace("loan", "loans").str.replace("stamp", "stamps")
        )
    wrong = model.predict(new) != y[200:]
    assert wrong.mean() <= (0.12 if what == "gaps" else 0.03)
    assert len(model.predict(X[:1].assign(note=None))) == 1
    assert len(model.predict(X[:1].assign(note=""))) == 1


def test_text_is_learned_by_every_way_of_fitting():
    X, y = short_texts()
    for method in ("mec", "calibrated", "tree"):
        model = fit_model(X[["note"]][:200], y[:200], method, cost_matrix=[[0, 1], [5, 0]])
        assert (model.predict(X[["note"]][200:]) != y[200:]).mean() <= 0.05, method

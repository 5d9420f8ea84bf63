"""Cost without truth: the interval, the alarm, and a state that is small and savable."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from stakes.compare import add_reference, fit_model, load_model, save_model
from stakes.costs import binary_cost_tensor
from stakes.decision import CostDecisionClassifier
from stakes.monitor import Monitor, estimate_cost
from stakes.monitor._by_class import predict_shifted_cost, summarize_classes
from stakes.monitor._chart import (
    Chart,
    batches_until_seen,
    quiet_batches,
    threshold_for,
    to_normal,
)
from stakes.monitor._estimate import (
    Predicted,
    compare_with_truth,
    interval_of,
    predict_mean_cost,
    quantile,
    standard_quantile,
    state_costs,
    vary_between_models,
)

C = np.array([[0.0, 1.0], [10.0, 0.0]])


def draw(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n) + shift, "b": rng.choice(["x", "y", "z"], n)})
    y = np.where(X["a"] + rng.normal(size=n) > 1, "bad", "good")
    return X, y


@pytest.fixture(scope="module")
def model():
    X, y = draw(400, 0)
    matrix = pd.DataFrame([[0, 1], [10, 0]], ["good", "bad"], ["good", "bad"])
    return add_reference(
        fit_model(X, y, "mec", cost_matrix=matrix, fast=True), X, y, cost_matrix=matrix, fast=True
    )


# -- the interval ------------------------------------------------------------------------------


def test_the_moments_of_three_rows_by_hand():
    # Decide 0 at P(1) = 0.1: 10 with probability 0.1, so mean 1, variance 0.1 x 81 + 0.9 x 1 = 9,
    # third moment 0.1 x 729 - 0.9 = 72. Decide 1 at 0.3: 1 with 0.7: 0.7, 0.21, 0.7 x 0.027 -
    # 0.3 x 0.343 = -0.084. Sure: nothing is left to chance.
    proba = np.array([[0.9, 0.1], [0.7, 0.3], [0.0, 1.0]])
    stated = state_costs(proba, C, np.array([[0], [1], [0]]))
    assert stated.mean[:, 0] == pytest.approx([1, 0.7, 10])
    assert stated.variance[:, 0] == pytest.approx([9, 0.21, 0])
    assert stated.third[:, 0] == pytest.approx([72, -0.084, 0])
    tensor = np.repeat(C[None], 3, axis=0)
    for one, two in zip(stated, state_costs(proba, tensor, np.array([[0], [1], [0]]))):
        assert one == pytest.approx(two)
    # Paid 10, 0, 10: beyond 9, -0.7, 0; the correction is their mean.
    found = compare_with_truth(stated, np.array([[10.0], [0.0], [10.0]]))
    assert found.mean[0] == pytest.approx(8.3 / 3)
    assert found.n == pytest.approx(3)
    together = predict_mean_cost(stated, found)
    assert together.mean[0] == pytest.approx(11.7 / 3 + 8.3 / 3)
    assert together.calibration[0] == pytest.approx(np.var([9, -0.7, 0], ddof=1) / 3)
    assert together.truth[0] == pytest.approx(found.ratio[0] * 9.21 / 9)


@pytest.mark.parametrize("skew", [-2.0, 0.0, 0.5, 3.0])
def test_quantiles_are_those_of_pearsons_third_kind(skew):
    shares = np.array([0.025, 0.5, 0.975])
    assert standard_quantile(skew, shares) == pytest.approx(stats.pearson3(skew).ppf(shares))
    z = float(stats.pearson3(skew).ppf(0.9))
    assert to_normal(z, skew) == pytest.approx(stats.norm.ppf(0.9))


def test_the_interval_holds_what_is_paid_although_the_probabilities_are_off():
    # The model states the square of what is true; in 19 of 20 cases the interval must hold.
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        p = rng.beta(1, 4, 350)
        y = rng.random(350) < p
        stated = np.column_stack([1 - p**2, p**2])
        decided = (stated @ C).argmin(axis=1)[:, None]
        paid = C[y.astype(int)[:, None], decided]
        said = state_costs(stated, C, decided)
        known = compare_with_truth(type(said)(*(part[:200] for part in said)), paid[:200])
        found = predict_mean_cost(type(said)(*(part[200:] for part in said)), known)
        low, high = quantile(found, 0.025)[0], quantile(found, 0.975)[0]
        held.append(low <= paid[200:].mean() <= high)
    assert 0.93 <= np.mean(held) <= 0.97


def test_the_interval_holds_where_few_mistakes_were_seen():
    # Two or three expensive rows in the reference of 500, stated half as likely as they are.
    rng, held, plain = np.random.default_rng(1), [], []
    for _ in range(400):
        said, paid = [], []
        for n in (500, 2000):
            p = np.clip(rng.gamma(0.5, size=n) / 0.5 * 0.0025, 0, 0.9)
            y = (rng.random(n) < 2 * p).astype(int)
            stated = np.column_stack([1 - p, p])
            decided = (stated @ (C * 2)).argmin(axis=1)[:, None]
            said.append(state_costs(stated, C * 2, decided))
            paid.append((C * 2)[y[:, None], decided])
        found = predict_mean_cost(said[1], compare_with_truth(said[0], paid[0]))
        truth = paid[1].mean()
        low, high = interval_of(found, 0.95)
        held.append(low[0] <= truth <= high[0])
        plain.append(quantile(found, 0.025)[0] <= truth <= quantile(found, 0.975)[0])
    assert np.mean(held) >= 0.93
    assert np.mean(plain) < 0.92


def test_models_of_folds_that_expect_other_costs_are_a_variance_of_their_own(model):
    # Four models that expect 0, 1, 2 and 3 of every row: their variance is 5/3. One that decides
    # differs from the mean of four by 5/4 of it.
    fold, y = np.arange(200) % 4, np.arange(200) // 4 % 2
    expected = 1.0 * fold[:, None]
    assert vary_between_models(expected + 9.0 * y[:, None], y, np.zeros(200, int)) == [0]
    between = vary_between_models(expected + 9.0 * y[:, None], y, fold)
    assert between == pytest.approx([5 / 3 - 1.25 / 50], rel=0.02)
    stated = state_costs(np.full((200, 2), 0.5), C, np.ones((200, 1), dtype=int))
    one = compare_with_truth(stated, 1.0 * y[:, None])
    more = predict_mean_cost(stated, one._replace(between=between, n_models=4.0))
    less = predict_mean_cost(stated, one)
    assert more.variance - less.variance == pytest.approx(1.25 * between)
    # A model of five folds keeps who stated what, and a state written before that is read.
    found = Monitor(model).reference
    assert found.residuals.n_models == 5
    old = found.to_dict()
    for name in ("between", "n_models"):
        del old["residuals"][name]
    assert type(found).from_dict(old).residuals.n_models == 1


def test_without_spread_nothing_is_unsure():
    certain = Predicted(np.ones(1), *np.zeros((4, 1)))
    assert quantile(certain, 0.975).tolist() == [1.0]


# -- a model -----------------------------------------------------------------------------------


def test_an_estimate_beside_what_other_decisions_would_cost(model):
    X, y = draw(500, 1)
    found = estimate_cost(model, X)
    paid = {d: np.where(y == d, 0, np.where(y == "bad", 10, 1)).mean() for d in ("bad", "good")}
    assert list(found.others.index) == ["bad", "good", "most probable"]
    for name, cost in paid.items():
        row = found.others.loc[name]
        assert row.low <= cost <= row.high
    decided = model.predict(X)
    own = np.where(decided == y, 0, np.where(y == "bad", 10, 1)).mean()
    assert found.low <= own <= found.high
    assert found.cost < found.others["cost"].min()
    assert found.total == pytest.approx(500 * found.cost)
    assert 0 < found.share_of_truth < 1
    wide = estimate_cost(model, X, level=0.99)
    assert wide.low < found.low < found.high < wide.high
    with pytest.raises(ValueError, match="level=2 must be between 0 and 1"):
        estimate_cost(model, X, level=2)


def test_prices_of_each_row_and_costs_in_hindsight():
    X, y = draw(400, 2)
    tensor = binary_cost_tensor(fp_cost=1, fn_cost=np.linspace(2, 20, 400))[:, ::-1, ::-1]
    made = fit_model(X[:200], y[:200], "mec", cost_tensor=tensor[:200], fast=True)
    kept = X[200:300], y[200:300], tensor[200:300]
    found = estimate_cost(made, X[300:], cost_tensor=tensor[300:], reference=kept)
    decided = np.searchsorted(["bad", "good"], made.predict(X[300:], cost_tensor=tensor[300:]))
    truth = np.searchsorted(["bad", "good"], y[300:])
    assert found.low <= tensor[300:][np.arange(100), truth, decided].mean() <= found.high
    costs = tensor[np.arange(400), np.searchsorted(["bad", "good"], y)]
    made = fit_model(X[:200], y[:200], "cost_regression", costs=costs[:200], fast=True)
    kept = X[200:300], y[200:300], costs[200:300]
    found = estimate_cost(made, X[300:], reference=kept)
    decided = np.searchsorted(["bad", "good"], made.predict(X[300:]))
    assert found.low <= costs[300:][np.arange(100), decided].mean() <= found.high
    with pytest.raises(ValueError, match="give the costs of the rows with their truth"):
        Monitor(made, reference=kept).update(X[300:], y[300:])


def test_a_classifier_without_probabilities_is_known_by_its_decisions():
    X, y = draw(600, 3)
    tree = DecisionTreeClassifier(max_depth=1).fit(X[["a"]][:300], y[:300])

    class Bare:
        classes_, predict = tree.classes_, staticmethod(tree.predict)

    found = estimate_cost(Bare(), X[["a"]][450:], reference=(X[["a"]][300:450], y[300:450]))
    wrong = (tree.predict(X[["a"]][450:]) != y[450:]).mean()
    assert found.low <= wrong <= found.high


def test_a_reference_is_kept_in_the_model_file(model, tmp_path):
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    X, _ = draw(100, 4)
    assert estimate_cost(again, X).low == estimate_cost(model, X).low
    assert (tmp_path / "m.skops").stat().st_size < 300_000
    again.reference.proba = again.reference.proba[:5].copy()
    with pytest.raises(ValueError, match="do not belong together"):
        again.check()


def test_the_default_has_its_reference_from_fitting():
    X, y = draw(150, 5)
    from stakes.auto import StakesClassifier

    made = fit_model(X, y, StakesClassifier(members=["linear"], random_state=0))
    add_reference(made, X, y)
    assert np.array_equal(made.reference.proba, made.estimator.held_out_proba_)
    rows = made.estimator.held_out_rows_
    assert np.array_equal(np.array(made.classes)[made.reference.y], y[rows])
    assert estimate_cost(made, X).n == 150


def test_a_model_without_a_reference_says_what_to_do():
    X, y = draw(60, 6)
    made = fit_model(X, y, "mec", fast=True)
    with pytest.raises(ValueError, match="give reference=.X, y. of such rows, or call"):
        estimate_cost(made, X)
    with pytest.raises(ValueError, match="The truth has 'ugly', which the model does not know"):
        estimate_cost(made, X, reference=(X, np.where(y == "bad", "ugly", y)))


# -- the alarm ---------------------------------------------------------------------------------


def test_the_textbooks_times_between_false_alarms():
    # One-sided, k = 0.5; two-sided charts have half as long: 168 at h = 4, 465 at h = 5.
    assert quiet_batches(4.0) == pytest.approx(335.4, rel=0.005)
    assert quiet_batches(5.0) == pytest.approx(930.9, rel=0.005)
    assert threshold_for(2 / 335.4) == pytest.approx(4.0, abs=0.01)
    with pytest.raises(ValueError, match="false_alarms=0.5 must be a share"):
        threshold_for(0.5)


def test_a_chart_joins_its_batches():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=n) for n in (50, 20, 30)]
    chart = Chart.of(parts[0])
    for part in parts[1:]:
        chart.update(part, 99.0)
    whole = Chart.of(np.concatenate(parts))
    assert chart.n == 100
    assert chart.mean == pytest.approx(whole.mean)
    assert chart.second == pytest.approx(whole.second)
    assert chart.third == pytest.approx(whole.third)


@pytest.mark.parametrize(("m", "n"), [(300, 100), (150, 30)])
def test_false_alarms_come_at_the_stated_rate(m, n):
    rng = np.random.default_rng(1)
    h, n_streams, n_batches = threshold_for(0.02), 150, 80
    alarms = 0
    for _ in range(n_streams):
        chart = replace(Chart.of(rng.exponential(size=m)), between=0.0)
        for batch in rng.exponential(size=(n_batches, n)):
            alarms += bool(chart.update(batch, h)[1])
    rate = alarms / n_streams / n_batches
    assert 0.02 - 0.005 <= rate <= 0.02 + 0.005


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("common", [0.05, 0.1])
def test_what_batches_share_is_no_alarm(common, correlation):
    # Each batch of 100 shares an effect, alone or with the one before: without counting it, 2 to 8
    # times the stated rate.
    rng, h, alarms = np.random.default_rng(3), threshold_for(0.02), 0
    for _ in range(60):
        chart, effect = Chart.of(rng.exponential(size=1000)), 0.0
        for batch in rng.exponential(size=(100, 100)):
            own = np.sqrt(1 - correlation**2) * common * rng.normal()
            effect = correlation * effect + own
            alarms += bool(chart.update(batch + effect, h)[1])
    assert alarms / 6000 <= 1.5 * 0.02


@pytest.mark.parametrize("between", [0.0, 0.12])
def test_a_shift_is_seen_when_the_docs_say(between):
    rng, h, when = np.random.default_rng(2), threshold_for(0.01), []
    reference = replace(Chart.of(rng.exponential(size=20_000)), between=between).worth(2000)
    within = batches_until_seen(reference, 0.5, 100, h)
    for _ in range(300):
        chart = replace(Chart.of(rng.exponential(size=2000)), between=between)
        common = rng.normal(size=within + 1) * between
        drawn = (rng.exponential(size=100) + 0.5 + each for each in common)
        when.append(next((i for i, batch in enumerate(drawn, 1) if chart.update(batch, h)[1]), 99))
    assert np.mean(np.array(when) < within - 1) < 0.93
    assert np.mean(np.array(when) <= within + 1) > 0.9
    assert batches_until_seen(reference, 0.01, 100, h) is None


def test_what_is_not_seen_is_not_seen_in_nine_of_ten():
    # Where None is said, fewer than nine of ten are seen within all the batches that were tried.
    rng, h = np.random.default_rng(4), threshold_for(0.01)
    known = Chart.of(rng.normal(size=1000))
    assert batches_until_seen(known, 0.1, 100, h) is None
    seen = 0
    for _ in range(100):
        chart = Chart.of(rng.normal(size=1000))
        batches = rng.normal(size=(100, 100)) + 0.1 + 0.12 * rng.normal(size=(100, 1))
        seen += any(chart.update(batch, h)[1] == "up" for batch in batches)
    assert seen < 90


# -- the monitor -------------------------------------------------------------------------------


def test_a_quiet_batch_a_shift_and_late_truth(model):
    monitor = Monitor(model, between=0)
    X, y = draw(300, 7)
    quiet = monitor.update(X, y, label="May")
    assert quiet["alarm"] == ""
    assert quiet["moved"] == []
    assert quiet["n_truth"] == 300
    assert quiet["low"] <= quiet["realised"] <= quiet["high"]
    moved, truth = draw(300, 8, shift=-1.5)
    found = monitor.update(moved, label="June")
    assert found["alarm"] == ""  # nothing to worry about
    assert found["notice"] == "the expected cost has fallen"
    assert [column["column"] for column in found["moved"]] == ["a"]
    assert found["frequencies"][0] < quiet["frequencies"][0] - 0.1
    turned = np.where(truth == "bad", "good", "bad")
    late = monitor.add_truth(moved, turned, "June")
    assert "more is paid than was expected" in late["alarm"]
    assert [a["label"] for a in monitor.alarms] == ["June"]
    assert list(monitor.table.index) == ["May", "June"]
    calibration = monitor.calibration()
    assert calibration["n"].sum() == 2 * len(model.reference.y)
    assert calibration["n_now"].sum() == 2 * 600
    with pytest.raises(ValueError, match="There is a batch 'June' already"):
        monitor.update(X, label="June")
    with pytest.raises(ValueError, match="is known already"):
        monitor.add_truth(moved, truth, "June")
    with pytest.raises(ValueError, match="There is no batch 'July'"):
        monitor.add_truth(moved, truth, "July")
    with pytest.raises(ValueError, match="has 0 rows"):
        monitor.update(X[:0])


def test_a_batch_whose_truth_is_refused_is_not_half_taken(model):
    monitor = Monitor(model)
    X, y = draw(50, 3)
    before = monitor.to_dict()
    with pytest.raises(ValueError, match="The truth has 'wild'"):
        monitor.update(X, np.where(y == "bad", "wild", y), label="May")
    with pytest.raises(ValueError, match="has 50 rows, but 49 true classes"):
        monitor.update(X, y[1:], label="May")
    assert monitor.to_dict() == before
    assert monitor.update(X, y, label="May")["n_truth"] == 50


def test_truth_that_came_in_for_some_rows_counts_for_these(model):
    X, y = draw(200, 9)
    part = y.astype(object)
    part[50:] = None
    some = Monitor(model).update(X, part)
    alone = Monitor(model).update(X[:50], y[:50])
    assert some["n_truth"] == 50
    assert some["realised"] == alone["realised"]
    assert Monitor(model).update(X, np.full(200, None))["n_truth"] == 0


def test_the_state_is_small_and_goes_on_as_if_nothing_had_happened(model, tmp_path):
    path = tmp_path / "state.json"
    one = Monitor(model, false_alarms=0.02)
    for i in range(20):
        one.update(*draw(50, 10 + i), label=i)
    one.save(path)
    assert path.stat().st_size < 50_000
    two = Monitor.load(path, model)
    X, y = draw(50, 99)
    assert one.update(X, y) == two.update(X, y)
    assert json.loads(json.dumps(one.to_dict())) == json.loads(json.dumps(two.to_dict()))
    path.write_text('{"format": "another"}')
    with pytest.raises(ValueError, match=r"state.json is not a state"):
        Monitor.load(path, model)


def test_a_state_of_an_earlier_format_goes_on_and_a_later_one_is_refused(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    X = pd.DataFrame({"x": rng.normal(size=60) + y, "z": rng.normal(size=60)})
    labels, costs = np.array(["no", "yes"])[y], {"cost_matrix": [[0, 1], [8, 0]]}
    estimator = CostDecisionClassifier(LogisticRegression(), **costs, cv=2)
    model = add_reference(fit_model(X, labels, estimator, **costs), X, labels, **costs)
    old = Path(__file__).with_name("old") / "monitor-1.json"
    again = Monitor.load(old, model)
    first = Monitor(model).update(X[:30], labels[:30], label="one")
    assert again.batches[0]["expected"] == pytest.approx(first["expected"])
    again.update(X[30:], labels[30:])
    again.save(tmp_path / "new.json")
    second = again.to_dict()
    del second["between"], second["batches"][0]["waiting"], second["batches"][0]["notice"]
    (tmp_path / "two.json").write_text(json.dumps({"format": "stakes-monitor-2", **second}))
    assert Monitor.load(tmp_path / "two.json", model).to_dict() == again.to_dict()
    assert json.loads((tmp_path / "new.json").read_text())["format"] == "stakes-monitor-3"
    (tmp_path / "later.json").write_text('{"format": "stakes-monitor-9"}')
    with pytest.raises(
        ValueError, match=r"in the format stakes-monitor-9, and this version .* begin"
    ):
        Monitor.load(tmp_path / "later.json", model)


@pytest.mark.parametrize("n_states", [150, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_damaged_state_is_refused_or_equal(model, tmp_path, n_states):
    path, rng = tmp_path / "state.json", np.random.default_rng(0)
    monitor = Monitor(model)
    monitor.update(*draw(50, 1))
    monitor.save(path)
    whole, wanted = path.read_bytes(), monitor.to_dict()
    for _ in range(n_states):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), rng.integers(1, 4)):
            damaged[place] = rng.integers(32, 127)
        path.write_bytes(
            bytes(damaged[: rng.integers(1, len(whole))] if rng.random() < 0.3 else damaged)
        )
        try:
            found = Monitor.load(path, model).to_dict()
        except ValueError as error:
            refused = str(error)
        else:
            refused = str(path) if found == wanted else ""
        assert "state.json" in refused
    for text in ("[" * 100_000, '{"format": 1e999}', "", "null", '"x"', "[]"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"state.json is not a state"):
            Monitor.load(path, model)
    os.unlink(path)
    os.mkfifo(path)
    with pytest.raises(ValueError, match=r"state.json is no file"):
        Monitor.load(path, model)


def test_a_state_that_somebody_else_wrote_is_not_overwritten(model, tmp_path):
    path = tmp_path / "state.json"
    Monitor(model).save(path)
    one, two = Monitor.load(path, model), Monitor.load(path, model)
    one.update(*draw(50, 1), label="one")
    one.save(path)
    two.update(*draw(50, 2), label="two")
    with pytest.raises(ValueError, match="was changed by somebody else since it was read"):
        two.save(path)
    one.update(*draw(50, 3), label="three")
    one.save(path)
    assert list(Monitor.load(path, model).table.index) == ["one", "three"]


def test_batches_that_have_not_changed_are_not_written_down_again(model, tmp_path, monkeypatch):
    path, monitor, written = tmp_path / "state.json", Monitor(model), []
    monkeypatch.setattr(
        "stakes.monitor._monitor.as_text",
        lambda batch: written.append(batch["label"]) or json.dumps(batch, sort_keys=True),
    )
    for i in range(4):
        X, y = draw(20, i)
        monitor.update(X, label=f"week {i}", ids=[f"{i}-{row}" for row in range(20)])
        monitor.save(path)
    monitor.add_truth(None, y[:5], "week 3", ids=[f"3-{row}" for row in range(5)])
    monitor.save(path)
    assert written == ["week 0", "week 1", "week 2", "week 3", "week 3"]
    assert Monitor.load(path, model).to_dict() == monitor.to_dict()


def test_four_writers_and_a_reader(model):
    # What was taken one after the other is what four threads have taken; readers see whole batches.
    monitor, errors = Monitor(model), []
    parts = {f"{t}-{i}": draw(30, 100 * t + i) for t in range(4) for i in range(8)}

    def write(thread: int) -> None:
        for i in range(8):
            X, y = parts[f"{thread}-{i}"]
            monitor.update(X, label=f"{thread}-{i}")
            monitor.add_truth(X, y, f"{thread}-{i}")

    def read() -> None:
        while len(monitor.batches) < 32:
            try:
                monitor.table, monitor.alarms, monitor.to_dict()
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=write, args=(t,)) for t in range(4)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert sorted(monitor.table.index) == sorted(parts)
    assert (monitor.table["n_truth"] == 30).all()
    assert monitor.calibration()["n_now"].sum() == 2 * 32 * 30


def test_truth_comes_in_instalments_by_row(model, tmp_path):
    X, y = draw(90, 5)
    whole, parts = Monitor(model), Monitor(model)
    whole.update(X, y, label="May")
    names = [f"client {i}" for i in range(90)]
    parts.update(X, label="May", ids=names)
    parts.save(tmp_path / "s.json")
    parts = Monitor.load(tmp_path / "s.json", model)
    for first in range(0, 90, 30):
        some = slice(first, first + 30)
        parts.add_truth(None, y[some], "May", ids=names[some])
    one, other = (monitor.table.loc["May"] for monitor in (whole, parts))
    assert one["n_truth"] == other["n_truth"] == 90
    assert one["realised"] == pytest.approx(other["realised"])
    assert one["expected_there"] == pytest.approx(other["expected_there"])
    assert parts.batches[0]["waiting"] == {}
    pd.testing.assert_frame_equal(whole.calibration(), parts.calibration())
    with pytest.raises(ValueError, match="'client 3' is not waiting"):
        parts.add_truth(None, ["bad"], "May", ids=["client 3"])


@pytest.mark.parametrize(
    "truth",
    [
        [1, 0, None, 1] * 25,
        [1.0, 0.0, np.nan, 1.0] * 25,
        pd.array([1, 0, None, 1] * 25, dtype="Int64"),
        pd.array([True, False, None, True] * 25, dtype="boolean"),
        pd.Series([1, 0, None, 1] * 25, dtype="Float64"),
        ["1", "0", None, "1"] * 25,
    ],
)
def test_truth_is_taken_as_it_comes(truth):
    X, y = draw(200, 4)
    y = (y == "bad").astype(int)
    decider = CostDecisionClassifier(LogisticRegression(), cost_matrix=C).fit(
        X[["a"]][:100], y[:100]
    )
    monitor = Monitor(decider, reference=(X[["a"]][100:], y[100:]))
    wanted = Monitor(decider, reference=(X[["a"]][100:], y[100:]))
    there = np.array([True, True, False, True] * 25)
    wanted.update(X[["a"]][:100][there], np.array([1, 0, 1] * 25))
    found = monitor.update(X[["a"]][:100], truth)
    assert found["n_truth"] == 75
    assert found["realised"] == pytest.approx(wanted.batches[0]["realised"])


def test_a_level_is_a_share(model):
    with pytest.raises(ValueError, match="level=95 must be between 0 and 1: 0.95, not 95"):
        Monitor(model, level=95)


def test_any_classifier_can_be_watched():
    X, y = draw(400, 11)
    plain = LogisticRegression().fit(X[["a"]][:200], y[:200])
    decider = CostDecisionClassifier(
        FrozenEstimator(plain),
        cost_matrix=pd.DataFrame(C[::-1, ::-1], ["bad", "good"], ["bad", "good"]),
    ).fit(X[["a"]][:200], y[:200])
    monitor = Monitor(decider, reference=(X[["a"]][200:], y[200:]))
    assert monitor.update(X[["a"]][200:])["alarm"] == ""
    assert monitor.batches_until_seen(0.5, 100) >= 1


def test_an_estimate_at_unknown_frequencies_by_hand():
    # Held out: of class 0 two rows at P(1) = 0.2, of class 1 two at 0.6. On average new rows are at
    # 0.5, so three of four are of class 1. All are decided 1 at an expected 1 - P(1); beyond that
    # class 0 costs 0.2 and class 1 costs 0.4 less.
    proba, y = np.array([[0.8, 0.2]] * 2 + [[0.4, 0.6]] * 2), np.array([0, 0, 1, 1])
    decided = np.ones((4, 1), dtype=int)
    beyond = C[y[:, None], decided] - state_costs(proba, C, decided).mean
    known = summarize_classes(proba, beyond, y, np.zeros(4, dtype=int))
    assert known.beyond.ravel() == pytest.approx([0.2, -0.4])
    new = np.array([[0.5, 0.5]] * 8)
    found = predict_shifted_cost(state_costs(new, C, np.ones((8, 1), int)), new, known)
    assert found.mean == pytest.approx([0.25])  # a quarter pays 1
    assert found.variance == pytest.approx([0.0], abs=1e-20)  # rows of a class are all alike


def test_models_that_differ_make_the_estimate_less_sure():
    rng = np.random.default_rng(0)
    y, fold = rng.integers(0, 2, 400), np.arange(400) % 4
    p = np.clip(0.3 + 0.4 * y + 0.1 * rng.normal(size=400), 0.01, 0.99)
    found = []
    for differs in (0.0, 0.1):
        each = np.clip(p + differs * (fold - 1.5), 0.01, 0.99)
        proba, decided = np.column_stack([1 - each, each]), (each > 0.5).astype(int)[:, None]
        stated = state_costs(proba, C, decided)
        known = summarize_classes(proba, C[y[:, None], decided] - stated.mean, y, fold)
        found.append(predict_shifted_cost(stated, proba, known).calibration[0])
    assert found[1] > 10 * found[0]


@pytest.mark.parametrize("share", [0.15, 0.6])
def test_the_interval_holds_at_frequencies_that_nobody_told(share):
    # Three of ten held-out rows are of class 1; the probabilities are badly off.
    rng = np.random.default_rng(1)
    held = []
    for _ in range(300):
        parts = []
        for n, q in ((300, 0.3), (200, share)):
            y = (rng.random(n) < q).astype(int)
            odds = 0.7 * (rng.normal(size=n) + 1.5 * y) - 1.0
            p = 1 / (1 + np.exp(-odds))
            proba, decided = np.column_stack([1 - p, p]), (p > 0.4).astype(int)[:, None]
            stated = state_costs(proba, C, decided)
            parts.append((proba, stated, C[y[:, None], decided], y))
        (proba, stated, paid, y), (new, said, cost, _) = parts
        known = summarize_classes(proba, paid - stated.mean, y, np.zeros(300, dtype=int))
        found = predict_shifted_cost(said, new, known)
        low, high = quantile(found, 0.025)[0], quantile(found, 0.975)[0]
        held.append(low <= cost.mean() <= high)
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.fixture(scope="module")
def calibrated():
    X, y = draw(400, 0)
    matrix = pd.DataFrame([[0, 1], [10, 0]], ["good", "bad"], ["good", "bad"])
    how = {"cost_matrix": matrix, "fast": True}
    return add_reference(fit_model(X, y, "calibrated", **how), X, y, **how)


def rows_with(n_bad, n_good):
    X, y = draw(4000, 20)
    rng = np.random.default_rng(0)
    drawn = [
        rng.choice(np.flatnonzero(y == label), n, replace=False)
        for label, n in (("bad", n_bad), ("good", n_good))
    ]
    some = np.concatenate(drawn)
    return X.iloc[some], y[some]


def test_an_adapted_model_takes_frequencies_for_unknown(calibrated, tmp_path):
    X, y = rows_with(500, 300)
    adapted = calibrated.adapt(X)
    decided = adapted.predict(X)
    paid = np.where(decided == y, 0, np.where(y == "bad", 10, 1)).mean()
    found = estimate_cost(adapted, X)
    assert found.low <= paid <= found.high
    save_model(adapted, tmp_path / "adapted.skops")
    kept = load_model(tmp_path / "adapted.skops")
    assert estimate_cost(kept, X).high == pytest.approx(found.high)
    monitor = Monitor(adapted)
    monitor.save(tmp_path / "state.json")
    again = Monitor.load(tmp_path / "state.json", adapted)
    assert again.update(X)["high"] == pytest.approx(found.high)
    with pytest.raises(ValueError, match="another model: one of them was adapted"):
        Monitor.load(tmp_path / "state.json", calibrated)


def test_not_clearly_shifted_is_not_known_to_be_the_same(calibrated):
    # Fewer bad ones than in training among 40 rows, too few to be sure: the decisions stay, but the
    # estimate asks these rows how many are bad, and does not take them for one in five.
    X, _ = rows_with(5, 35)
    adapted = calibrated.adapt(X)
    assert "not clearly shifted" in adapted.info["shift"]
    assert (adapted.predict(X) == calibrated.predict(X)).all()
    before, found = estimate_cost(calibrated, X), estimate_cost(adapted, X)
    assert found.stated == before.stated
    assert found.cost < 0.9 * before.cost


def test_frequencies_that_are_told_are_not_in_doubt(calibrated):
    X, _ = rows_with(500, 300)
    told = calibrated.adapt(None, priors={"bad": 500 / 800, "good": 300 / 800})
    guessed = calibrated.adapt(X)
    one, other = estimate_cost(told, X), estimate_cost(guessed, X)
    assert one.high - one.low < other.high - other.low
    assert told.adapted.before == pytest.approx(calibrated.reference.frequencies)
    # Adapting twice begins where the first ended, and the interval where the model was fitted.
    twice = told.adapt(X)
    assert twice.adapted == (told.adapted.before, True)

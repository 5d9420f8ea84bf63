"""A model as one graph of ONNX, from features to decision, verified before it is written."""

import json
import os
import warnings
from typing import Any

import numpy as np

from stakes import __version__
from stakes.export import _ensembles  # noqa: F401  # enters how ensembles are written
from stakes.export._decider import FORMAT, METADATA, PRICES, open_session
from stakes.export._graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph, import_onnx
from stakes.export._learners import Rows, state
from stakes.export._prices import PriceRecipe
from stakes.export._settle import Answer, Prices, settle
from stakes.export._source import Source
from stakes.export._tables import NUMBER, TEXT, Table, prepared
from stakes.export._verify import (
    Said,
    Verification,
    compare_said,
    draw_rows,
    edge_rows,
    rows_at_questions,
    sample_prices,
)
from stakes.utils._files import write_atomically
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import num_samples, safe_indexing

N_DRAWN = 1000


def to_onnx(
    model: Any,
    path: str | os.PathLike | None = None,
    *,
    X: Any = None,
    prices: Any = None,
    training_rows: bool = False,
    random_state: int = 0,
) -> bytes:
    """Write a model as one graph of ONNX, from features to decision; or refuse to.

    The file is run in onnxruntime and must decide as the model does before it is written: on the
    rows of X, on rows drawn near what the model has seen, and on edge rows (missing values,
    unknown categories, extremes). It holds the report of this check, and no training row.

    Parameters
    ----------
    model : DecisionModel or estimator
        What `stakes.compare.fit_model` or `load_model` returns, or a fitted classifier of this
        library, or a Pipeline that ends in one.
    path : path-like, default=None
        Where to; such as ``model.onnx``. None writes no file.
    X : DataFrame or array-like, default=None
        Rows to verify on besides those that are drawn: the more like real ones, the better.
    prices : list of list, default=None
        The prices of each row from columns of its own, [true][predicted]: numbers, names of
        columns, or functions such as ``lambda column: 0.75 * column("amount") + 20``. The graph
        then takes those columns (input ``price_columns``) in place of ``prices``.
    training_rows : bool, default=False
        Whether a model that compares with training rows (nearest neighbours, kernels) may be
        exported with them in the file. By default it is refused.
    random_state : int, default=0
        Draws the rows.

    Returns
    -------
    data : bytes
        The file.

    Raises
    ------
    NotExportable
        Where some part of the model has no export; the message says which.
    ExportRefused
        Where the graph does not decide as the model does; ``rows`` of the error says where.

    See Also
    --------
    to_json : The decision layer alone, for a model of your own.
    OnnxDecider : Reads the file and decides tables.

    Notes
    -----
    Inputs: ``numbers`` (rows, columns), float64, NaN where missing; ``texts`` (rows, columns),
    "" where missing, for tables with categories; ``prices`` (rows, classes, decisions but
    abstaining), [true, decided], for models that can weigh the prices of single rows: it need not be
    given unless the model was fitted with costs known when deciding. Outputs: ``decision``; and where
    the model has them ``probabilities`` (of votes for decisions that are no classes ``shares``),
    ``expected_costs``, and ``expected_cost``, ``next_best`` and
    ``next_best_cost`` as in `DecisionModel.decide`. The metadata entry ``stakes`` is JSON: classes,
    decisions, columns, versions, the report.

    Examples
    --------
    >>> from stakes.export import OnnxDecider, to_onnx
    >>> from stakes.tree import CostTreeClassifier
    >>> X, y = [[1], [2], [3], [4], [3], [4]], [0, 0, 0, 0, 1, 1]
    >>> tree = CostTreeClassifier([[0, 1], [5, 0]], min_samples_leaf=2).fit(X, y)
    >>> OnnxDecider(to_onnx(tree)).decide([[1.0], [4.0]])
       decision  expected_cost  next_best  next_best_cost
    0         0            0.0          1             1.0
    1         1            0.5          0             2.5
    """
    source = Source(model)
    recipe = None if prices is None else PriceRecipe(prices, source)
    proto, asked = build(source, training_rows, recipe)
    report = verify(
        proto.SerializeToString(), source, asked, X, random_state=random_state, recipe=recipe
    )
    describe(proto, source, report, recipe)
    data = proto.SerializeToString()
    if path is not None:
        write_atomically(path, data)
    return data


def build(
    source: Source, training_rows: bool = False, recipe: PriceRecipe | None = None
) -> tuple[Any, list]:
    """Return the graph of a model, not yet verified, as ONNX's ModelProto; and its trees."""
    g = Graph()
    table = Table.open(g, source.schema)
    prices = None
    if recipe is not None:
        prices = Prices(recipe.tensor(g), True)
    elif source.weighs_prices:
        none = None if source.needs_prices else np.zeros((0, *source.prices.shape))
        g.input(PRICES, float, ["price_rows", *source.prices.shape], default=none)
        prices = Prices(PRICES, source.needs_prices)
    given: Any = table if source.preparation is None else prepared(table, source.preparation)
    said = state(source.estimator, Rows(g, given, prices, training_rows))
    write_outputs(g, settle(g, said, source.numbers, prices), source.numbers)
    proto = g.model({}, __version__)
    import_onnx().checker.check_model(proto)
    return proto, g.asked


def write_outputs(g: Graph, answer: Answer, policy: dict) -> None:
    """Make of what is decided the outputs of a graph."""
    labels, n_classes = policy["decisions"], len(policy["classes"])
    # votes for decisions say nothing of classes that these are not
    votes = policy["states"] == "votes" and labels != policy["classes"]
    kind = _kind_of(labels)
    names = g.constant(np.array(labels, dtype=object if kind is str else kind))
    g.output("decision", g.op("Gather", names, answer.decision), kind, ["rows"])
    if answer.proba is not None:
        name, width = ("shares", len(labels)) if votes else ("probabilities", n_classes)
        g.output(name, answer.proba, float, ["rows", width])
    if answer.scores is not None:
        width = 1 if len(labels) == 2 else len(labels)
        g.output("scores", answer.scores, float, ["rows", width])
    if answer.expected is None:
        return
    g.output("expected_costs", answer.expected, float, ["rows", len(labels)])
    if not answer.by_costs:
        return
    flat = np.array([1])
    at = g.op("Unsqueeze", answer.decision, flat)
    own = g.op("GatherElements", answer.expected, at, axis=1)
    is_own = g.op("Equal", np.arange(len(labels))[None], at)
    others = g.op("Where", is_own, np.inf, answer.expected)
    second = g.op("ArgMin", others, axis=1, keepdims=1)
    other = g.op("GatherElements", answer.expected, second, axis=1)
    g.output("expected_cost", g.op("Squeeze", own, flat), float, ["rows"])
    g.output("next_best", g.op("Gather", names, g.op("Squeeze", second, flat)), kind, ["rows"])
    g.output("next_best_cost", g.op("Squeeze", other, flat), float, ["rows"])


def _kind_of(labels: list) -> type:
    """Return the type that all labels have; numbers are floats if one is, all else is text."""
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and kinds <= {bool, int, float}:
        return kinds.pop()
    return float if kinds == {int, float} else str


def describe(
    proto: Any, source: Source, report: Verification, recipe: PriceRecipe | None = None
) -> None:
    """Write into a graph what it is: labels, columns, versions, and the report of the check."""
    ort = import_optional("onnxruntime", extra="export", purpose="An export to ONNX")
    schema = source.schema
    about = {
        "format": FORMAT,
        "method": source.method,
        "classes": source.numbers["classes"],
        "decisions": source.numbers["decisions"],
        "cost_matrix": source.numbers["prices"],
        "prices": _prices_word(source, recipe),
        "price_columns": [] if recipe is None else recipe.columns,
        "named": schema.names is not None,
        "numbers": schema.columns(NUMBER),
        "texts": schema.columns(TEXT),
        "order": schema.names,
        "kinds": schema.kinds,
        "whole": schema.whole,
        "versions": {
            "stakes": __version__,
            "onnx": import_onnx().__version__,
            "onnxruntime": ort.__version__,
            "opset": OPSET,
            ML: ML_OPSET,
            "ir": IR_VERSION,
        },
        "verification": report.to_dict(),
    }
    text = json.dumps(about, default=str)
    import_onnx().helper.set_model_props(proto, {METADATA: text})


def _prices_word(source: Source, recipe: PriceRecipe | None) -> str:
    if recipe is not None:
        return "columns"
    return "needed" if source.needs_prices else "taken" if source.weighs_prices else "none"


# -- verification --------------------------------------------------------------------------------


def verify(
    data: bytes,
    source: Source,
    asked: list,
    X: Any = None,
    *,
    random_state: int = 0,
    recipe: PriceRecipe | None = None,
) -> Verification:
    """Run a graph beside its model; return what was found, or refuse.

    Parameters
    ----------
    data : bytes
        The graph.
    source : Source
        The model.
    asked : list
        The trees of the graph, as `build` returns them.
    X : table, default=None
        Rows to try besides those that are drawn.
    random_state : int
        Draws the rows.
    recipe : PriceRecipe, default=None
        How the graph finds the prices of each row, where it does.
    """
    rng = np.random.default_rng(random_state)
    session, columns = open_session(data), source.known_values()
    asker = _Asker(source, session, recipe, rng)
    if X is not None:
        asker.ask(X)
    drawn = draw_rows(columns, N_DRAWN, rng)
    if not asker.tries(source.frame(drawn)):  # a model that takes no missing values
        drawn = [np.where(np.isnan(c), 0.0, c) if c.dtype.kind == "f" else c for c in drawn]
        asker.ask(source.frame(drawn))
    if asked:
        at = source.frame(rows_at_questions(asked, drawn, rng))
        if len(at):
            asker.tries(at)
    edges, before = source.frame(edge_rows(columns)), asker.report.n_rows
    if not asker.tries(edges):
        for row in range(len(edges)):
            asker.tries(safe_indexing(edges, [row]))
    asker.report.n_edge_rows = asker.report.n_rows - before
    return asker.report


class _Asker:
    """Asks a model and its graph the same, and adds up in what they differ."""

    def __init__(self, source: Source, session: Any, recipe: PriceRecipe | None, rng: Any):
        self.source, self.session, self.recipe, self.rng = source, session, recipe, rng
        self.outputs = [output.name for output in session.get_outputs()]
        self.scale = max(float(np.abs(source.prices).max()), 1e-300)
        self.report = Verification(0, 0, with_prices=source.weighs_prices)

    def ask(self, part: Any) -> None:
        """Ask both about some rows, and compare."""
        self._compare(part, self._said(part))

    def tries(self, part: Any) -> bool:
        """Ask both about rows that the model may refuse; say whether it decides them by numbers."""
        try:
            said = self._said(part)
        except (ValueError, TypeError):
            return False
        parts = (part for ours, *_ in said for part in (ours.proba, ours.expected))
        if not all(part is None or np.isfinite(part).all() for part in parts):
            return False
        self._compare(part, said)
        return True

    def _said(self, part: Any) -> list[tuple[Said, dict, float]]:
        """Return what the model says of rows; what the graph is given besides; the largest price."""
        source, n_rows = self.source, num_samples(part)
        ways: list[tuple[np.ndarray | None, dict]] = []
        if self.recipe is not None:
            own, prices = self.recipe.draw(n_rows, self.rng)
            ways.append((prices, own))
        else:
            if not source.needs_prices:
                ways.append((None, {}))
            if source.weighs_prices:
                prices = sample_prices(source.prices, n_rows, self.rng)
                ways.append((prices, {PRICES: prices}))
        how = {"margins": "scores" in self.outputs, "shares": "shares" in self.outputs}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            said = [source.said(part, given, **how) for given, _ in ways]
        largest = [float(np.abs(source.prices if p is None else p).max()) for p, _ in ways]
        return [(ours, more, most) for ours, (_, more), most in zip(said, ways, largest)]

    def _compare(self, part: Any, said: list[tuple[Said, dict, float]]) -> None:
        feeds = self.source.schema.feeds(part)
        for ours, more, most in said:
            compare_said(ours, self._run(feeds | more), max(self.scale, most), self.report)
        self.report.n_rows += num_samples(part)

    def _run(self, feeds: dict) -> Said:
        said = dict(zip(self.outputs, self.session.run(self.outputs, feeds)))
        labels = self.source.decisions
        kind = _kind_of(labels)
        places = {kind(label): i for i, label in enumerate(labels)}
        decision = np.array([places[label] for label in said["decision"].tolist()])
        shares = said.get("probabilities", said.get("shares"))
        return Said(decision, (), shares, said.get("expected_costs"), said.get("scores"))

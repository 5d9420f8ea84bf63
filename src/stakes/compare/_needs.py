"""Which packages a model needs, from what it is made of, and of which versions they were."""

import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from typing import Any

from stakes import __version__
from stakes.compare._trusted import ESTIMATOR_LIBRARIES

# Packages that come with stakes itself, or are asked for when a file is read: they are in every file.
ALWAYS = ("numpy", "sklearn", "skops")
# By what name a package is installed, where that is another; else it is looked up.
INSTALLED_AS = {"sklearn": "scikit-learn"}
VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)?")


def packages_of(types: Iterable[type]) -> set[str]:
    """Return the packages, as they are imported, whose types a model holds or that these name.

    A type that keeps a part of another library as mere bytes says so by `_needs_packages`.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from sklearn.linear_model import LogisticRegression
    >>> from stakes.compare._needs import packages_of
    >>> sorted(packages_of([Fraction, LogisticRegression]))
    ['numpy', 'sklearn', 'skops']
    """
    types = set(types)
    roots = {kind.__module__.partition(".")[0] for kind in types}
    roots.update(name for kind in types for name in getattr(kind, "_needs_packages", ()))
    return {*roots, *ALWAYS} - {"stakes", "__main__"} - set(sys.stdlib_module_names)


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return what made a model: Python, stakes, and these packages by the names to install.

    Examples
    --------
    >>> from stakes.compare._needs import versions_of
    >>> list(versions_of(["sklearn", "numpy"]))
    ['python', 'stakes', 'numpy', 'scikit-learn']
    """
    versions = {"python": platform.python_version(), "stakes": __version__}
    known: dict[str, Any] = {}
    for package in sorted(packages):
        name = INSTALLED_AS.get(package, package)
        try:
            versions[name] = version(name)
        except PackageNotFoundError:  # it is installed by another name
            known = known or dict(packages_distributions())
            for other in known.get(package, [])[:1]:
                versions[other] = version(other)
    return versions


def requirements_of(versions: dict[str, str]) -> list[str]:
    """Return the lines of ``pip install`` that bring what made a model.

    Examples
    --------
    >>> from stakes.compare._needs import requirements_of
    >>> requirements_of({"python": "3.11.7", "stakes": "0.1.0", "lightgbm": "4.6.0"})
    ['stakes==0.1.0', 'lightgbm==4.6.0']
    """
    return [f"{name}=={number}" for name, number in versions.items() if name != "python"]


def missing_packages(names: Iterable[str]) -> list[str]:
    """Return which of the libraries of estimators these types come from, and are not installed."""
    roots = {name.partition(".")[0] for name in names}
    return [name for name in ESTIMATOR_LIBRARIES if name in roots and find_spec(name) is None]


def install_line(packages: Iterable[str], versions: dict[str, Any]) -> str:
    """Return how to install packages, in the versions that a file speaks of if those are any.

    Examples
    --------
    >>> from stakes.compare._needs import install_line
    >>> install_line(["lightgbm", "xgboost"], {"lightgbm": "4.6.0", "xgboost": "; rm -rf"})
    'pip install "lightgbm==4.6.0" "xgboost"'
    """
    wanted = []
    for package in packages:
        name = INSTALLED_AS.get(package, package)
        number = versions.get(name)
        known = isinstance(number, str) and VERSION.fullmatch(number)
        wanted.append(f'"{name}=={number}"' if known else f'"{name}"')
    return f"pip install {' '.join(wanted)}"

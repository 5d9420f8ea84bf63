"""Print the lowest version that pyproject.toml allows of each dependency, one a line.

    python tools/oldest.py core plot cli    # requirements for `pip install -r`

``core`` stands for the dependencies of the package itself, any other word for an extra; without
words it is all of them but the tools for developers. `make test-oldest` installs what this
prints and runs the tests on it, so that a lower bound is one that was tried.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
LOWEST = re.compile(r"(?P<name>[A-Za-z0-9._-]+(\[[a-z,]+\])?)\s*>=\s*(?P<version>[0-9][0-9.]*)")


def requirements(project: dict, parts: list[str]) -> list[str]:
    """Return ``name==lowest`` for each requirement of these parts of a project table."""
    extras = project["optional-dependencies"]
    found = {}
    for part in parts or [
        "core",
        *(extra for extra in extras if extra not in ("all", "docs", "dev")),
    ]:
        for requirement in project["dependencies"] if part == "core" else extras[part]:
            match = LOWEST.match(requirement)
            if match is None:
                raise SystemExit(f"{part}: {requirement!r} has no lower bound.")
            name, version = match["name"], match["version"]
            if found.setdefault(name, version) != version:
                raise SystemExit(f"{name} has two lower bounds: {found[name]} and {version}.")
    return [f"{name}=={version}" for name, version in found.items()]


if __name__ == "__main__":
    print(*requirements(tomllib.loads(PYPROJECT.read_text())["project"], sys.argv[1:]), sep="\n")

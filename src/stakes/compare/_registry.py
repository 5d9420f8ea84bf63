"""Every method there is: ours, and those that other packages enter."""

import difflib
from importlib.metadata import entry_points

import stakes.auto
import stakes.bagging
import stakes.boosting
import stakes.decision
import stakes.reductions
import stakes.tree  # noqa: F401  # importing a package enters the methods that it declares
from stakes._methods import Method, declared_methods
from stakes.utils._arrays import quoted

ENTRY_POINTS = "stakes.methods"
_loaded: list[str] = []


def all_methods() -> dict[str, Method]:
    """Return every method by name: ours first, then those of other packages."""
    if not _loaded:
        for entry in entry_points(group=ENTRY_POINTS):
            entry.load()
            _loaded.append(entry.name)
        _loaded.append("")
    return declared_methods()


def find_method(name: str) -> Method:
    """Return a method by name; an unknown name is refused with the nearest ones."""
    known = all_methods()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.lower(), known, n=3)
    hint = f"did you mean {quoted(near)}?" if near else f"the names are {', '.join(known)}."
    raise ValueError(f"There is no method {name!r}: {hint}")

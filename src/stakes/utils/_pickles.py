"""What a pickle is worth: the version that made it reads it, and no other."""

from typing import Any, ClassVar

import stakes

WHAT_TO_DO = (
    "a pickle is for the version that made it. Load it there and keep it with save_model, or fit "
    "again."
)
TOLD = "_version_told"


class PickledByVersion:
    """Mixin of what pickles bring back in the version of stakes that made them alone.

    Attributes of another version would be taken for ours: it would decide otherwise without a word.
    Model files of `save_model` say what they hold, and do not come this way.
    """

    # What a state holds once fitted, and what it then holds too since pickles tell their version.
    _pickled: ClassVar[tuple[str, str]] = ("classes_", "decisions_")

    def __reduce_ex__(self, protocol: Any) -> tuple:
        reduced: Any = super().__reduce_ex__(protocol)
        make, given, *rest = reduced
        return _make, (stakes.__version__, make, given), *rest

    def __setstate__(self, state: dict) -> None:
        fitted, needed = self._pickled
        told = vars(self).pop(TOLD, False)  # by `_make`; it may be on its way to be fitted
        if not told and fitted in state and needed not in state:
            raise ValueError(
                f"This {type(self).__name__} was pickled by an earlier version of stakes, and this is "
                f"{stakes.__version__}: {WHAT_TO_DO}"
            )
        vars(self).update(state)


def _make(version: str, make: Any, given: tuple) -> Any:
    """Return what is filled with a state afterwards, in the version that pickled it."""
    if version != stakes.__version__:
        raise ValueError(
            f"This {given[0].__name__} was pickled by stakes {version}, and this is "
            f"{stakes.__version__}: {WHAT_TO_DO}"
        )
    made = make(*given)
    setattr(made, TOLD, True)
    return made

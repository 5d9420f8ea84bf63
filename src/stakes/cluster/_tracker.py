"""A process beside the scheduler in which XGBoost's tracker brings workers together.

Where a worker dies while the others still come, the tracker may end its whole process: a thread
of its own fails to write to the dead one, and nobody catches that. So it must not be the
scheduler's. `_group` runs this file: it reads a line of JSON, how many workers and where, and
answers with one, what they have to know.
"""

import json
import os
import sys
from contextlib import suppress
from typing import Any


def serve() -> None:
    """Answer each line with a tracker, and let the next like it start before it is asked for.

    Asked what workers have to know, a tracker that has just been started sleeps for 0.1 s.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what XGBoost prints is no answer
    used: Any = None
    # By what was asked; ending one that no worker has reached may hang.
    waiting: dict[str, Any] = {}
    for line in sys.stdin:
        tracker = waiting.pop(line, None) or _start(line)
        print(json.dumps(tracker.worker_args()), file=answers, flush=True)
        _end(used)
        used, waiting[line] = tracker, _start(line)
    os._exit(0)


def _start(line: str) -> Any:
    from xgboost.tracker import RabitTracker

    tracker = RabitTracker(**json.loads(line), sortby="task")
    tracker.start()
    return tracker


def _end(tracker: Any) -> None:
    from xgboost.core import XGBoostError

    if tracker is not None:
        with suppress(XGBoostError):  # it may not have seen all workers leave
            tracker.free()


if __name__ == "__main__":
    serve()

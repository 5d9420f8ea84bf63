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


def serve() -> None:
    """Start a tracker for each line, after the one before has ended."""
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what XGBoost prints is no answer
    tracker = None
    for line in sys.stdin:
        if tracker is not None:
            with suppress(XGBoostError):  # it may not have seen all workers leave
                tracker.free()
        tracker = RabitTracker(**json.loads(line), sortby="task")
        tracker.start()
        print(json.dumps(tracker.worker_args()), file=answers, flush=True)
    os._exit(0)


if __name__ == "__main__":
    serve()

"""A model file as a service, until it is stopped."""

import gc
import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from stakes.compare import load_model
from stakes.serve._service import Service
from stakes.utils._optional import import_optional

# What every record of `logging` has; all else was given with it.
PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """One JSON object for each record: time, level, logger, event and whatever comes with it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        said: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        said |= {name: value for name, value in vars(record).items() if name not in PLAIN}
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        return json.dumps(said, default=str, ensure_ascii=False)


def serve(
    model: str | os.PathLike,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    state: str = "",
    batch: int = 1000,
    key: str = "",
    log_level: str = "info",
) -> None:
    """Serve a model file until the process is stopped.

    Parameters
    ----------
    model : path-like
        A file of `save_model` or ``stakes fit``.
    host : str, default="127.0.0.1"
        Where to listen; 0.0.0.0 is everywhere.
    port : int, default=8000
        The port.
    state : str, default=""
        The state of the monitor, which is then watching: read where it is there, saved at the
        start, after each batch and at the end. The model must keep what it says of held-out rows.
    batch : int, default=1000
        After so many rows the monitor looks at them.
    key : str, default=""
        A file that holds the secret with which the model must have been signed.
    log_level : str, default="info"
        From which level on lines are logged; "debug" logs each request.
    """
    uvicorn = import_optional("uvicorn", extra="serve", purpose="stakes serve")
    import_optional("fastapi", extra="serve", purpose="stakes serve")
    from stakes.serve._app import make_app

    decider = load_model(model, key=Path(key).read_bytes().strip() if key else None)
    monitor = _monitor(decider, state) if state else None
    service = Service(decider, monitor=monitor, state=state or None, batch=batch)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=log_level.upper(), handlers=[handler], force=True)
    warnings.simplefilter("always")
    warnings.showwarning = service.show_warning
    app = make_app(service)
    # What is loaded by now stays: looking through it for garbage took 0.1 s every few hundred requests.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(0.001)  # 5 ms is a long time for a thread that answers to wait
    uvicorn.run(app, host=host, port=port, log_config=None, access_log=False)


def _monitor(decider: Any, state: str) -> Any:
    from stakes.monitor import Monitor

    path = Path(state)
    if path.exists() and path.stat().st_size:
        return Monitor.load(path, decider)
    monitor = Monitor(decider)
    monitor.save(path)  # who cannot write there learns it now; who comes second reads it
    return monitor

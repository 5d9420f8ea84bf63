"""stakes serve: a model file as a service."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from stakes.cli._app import WRITTEN, File, command
from stakes.cli._outputs import Force, check_outputs


@command
def serve(
    model: Annotated[Path, Argument(help="A model file of stakes fit.")],
    host: Annotated[str, Option(help="Where to listen; 0.0.0.0 is everywhere.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port.")] = 8000,
    state: Annotated[
        File,
        Option(
            help="The state of the monitor, which is then watching: read where it is there, saved "
            "after each batch and at the end."
        ),
        WRITTEN,
    ] = None,
    batch: Annotated[int, Option(min=1, help="Rows after which the monitor looks.")] = 1000,
    key: Annotated[
        File, Option(help="A file with the secret by which the model must have been signed.")
    ] = None,
    log_level: Annotated[str, Option(help="debug logs each request.")] = "info",
    force: Force = False,
) -> None:
    """Serve a model: POST /decide and /truth, GET /metrics, /health and /docs.

    For example:
      stakes serve model.skops
      stakes serve model.skops --port 8080 --state watched.json
    """
    from stakes.serve import serve as run

    check_outputs([(state, "state")] if state else [], force=force)
    run(
        model,
        host=host,
        port=port,
        state=str(state or ""),
        batch=batch,
        key=str(key or ""),
        log_level=log_level,
    )

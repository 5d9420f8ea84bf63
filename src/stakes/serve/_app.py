"""The service as a web application."""

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse

from stakes import __version__
from stakes.serve._counters import Counters
from stakes.serve._queue import Queue
from stakes.serve._schema import Truth
from stakes.serve._service import Service

log = logging.getLogger("stakes.serve")


def make_app(model: Any, **options: Any) -> FastAPI:
    """Return the application that serves a model.

    ``POST /decide`` takes rows and, where the model weighs them, prices of each; ``POST /truth``
    what has become of rows, where a monitor watches; ``GET /metrics`` and ``GET /health`` say
    how the service is; ``GET /docs`` is its page.

    Parameters
    ----------
    model : DecisionModel or Service
        What decides.
    **options : dict
        Those of `Service`.

    Examples
    --------
    >>> from fastapi.testclient import TestClient
    >>> from stakes.compare import fit_model
    >>> from stakes.serve import make_app
    >>> model = fit_model([[0.0], [0.0], [9.0]], [0, 1, 1], "tree", cost_matrix=[[0, 1], [5, 0]])
    >>> with TestClient(make_app(model)) as client:
    ...     client.post("/decide", json={"rows": [[0.0]]}).json()["decision"]
    [1]
    """
    service = model if isinstance(model, Service) else Service(model, **options)
    queue = Queue(service.decide)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        log.info("started", extra={"method": service.model.method, "version": __version__})
        yield
        queue.close()
        service.close()
        log.info("stopped", extra=service.health())

    app = FastAPI(
        title=f"Decisions by {service.model.method}", version=__version__, lifespan=lifespan
    )
    app.add_middleware(Counting, counters=service.counters)
    Decide: Any = service.request_type

    @app.exception_handler(RequestValidationError)
    async def refuse(_: Request, error: RequestValidationError) -> JSONResponse:
        return JSONResponse({"detail": _in_words(error.errors()[0])}, 422)

    @app.exception_handler(ValueError)
    async def refuse_value(_: Request, error: ValueError) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 422)

    @app.post("/decide")
    async def decide(given: Decide) -> JSONResponse:
        """Decide rows: what to do, what it is expected to cost, and the next best."""
        return JSONResponse(await queue.ask(service.take(given)))

    @app.post("/truth")
    async def truth(given: Truth) -> JSONResponse:
        """Tell what has become of rows that were decided, by the ids that they were given."""
        return JSONResponse(await run_in_threadpool(service.take_truth, given.ids, given.classes))

    @app.get("/metrics")
    async def metrics() -> PlainTextResponse:
        """Say what was done, for Prometheus."""
        return PlainTextResponse(service.counters.text(), media_type="text/plain; version=0.0.4")

    @app.get("/health")
    async def health() -> JSONResponse:
        """Say how the service is."""
        return JSONResponse(service.health())

    return app


class Counting:
    """Counts and times each request; a failure becomes a sentence and a line of the log.

    As plain ASGI: what FastAPI offers for it takes as long as a decision.
    """

    def __init__(self, app: Any, counters: Counters):
        self.app, self.counters = app, counters

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), 0

        async def note(message: Any) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self.app(scope, receive, note)
        except Exception:
            log.exception("failed", extra={"path": scope["path"]})
            if not status:
                detail = {"detail": "The service failed; its log says why."}
                await JSONResponse(detail, 500)(scope, receive, note)
        seconds = time.perf_counter() - start
        # Any path may be asked for: those that are none are counted together.
        path = getattr(scope.get("route"), "path", "other")
        self.counters.add("stakes_requests_total", path=path, status=status)
        if path == "/decide":
            self.counters.time(seconds)
        log.debug("request", extra={"path": path, "status": status, "seconds": seconds})


def _in_words(error: Any) -> str:
    """Return what is wrong with a request, and where."""
    place = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"][1:]
    )
    return f"{place.lstrip('.') or 'The request'}: {error['msg']}."

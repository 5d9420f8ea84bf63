"""Requests that come at the same time are decided together, by one thread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

MOST_JOBS = 64


class Queue:
    """Jobs that wait for the one thread that decides.

    A row alone takes nearly as long as a hundred: what comes while the thread is busy is decided
    together when it is free. Nobody waits for others to come.

    Parameters
    ----------
    decide : callable
        From a list of jobs to a list of answers; an answer that is an exception is raised to the
        one who asked.
    """

    def __init__(self, decide: Callable[[list], list]):
        self._decide = decide
        self._waiting: list[tuple[Any, asyncio.Future]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="stakes-decide")
        self._task: asyncio.Task | None = None

    async def ask(self, job: Any) -> Any:
        """Return what a job is answered."""
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._waiting.append((job, answer))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        return await answer

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            taken, self._waiting = self._waiting[:MOST_JOBS], self._waiting[MOST_JOBS:]
            try:
                answers = await loop.run_in_executor(
                    self._thread, self._decide, [job for job, _ in taken]
                )
            except Exception as error:
                answers = [error] * len(taken)
            for (_, waiting), answer in zip(taken, answers):
                if waiting.done():  # who asked has gone
                    continue
                if isinstance(answer, Exception):
                    waiting.set_exception(answer)
                else:
                    waiting.set_result(answer)

    def close(self) -> None:
        """Wait for the thread, and end it."""
        self._thread.shutdown()

"""Cases in children: one that crashes, hangs or takes too much is told from the others."""

import os
import resource
import signal
import sys
import time
import traceback
import warnings

SECONDS = 10  # of work; for one that waits, of patience, six times as many: others work, too
MEGABYTES = 1000
# Cases of one child; a child costs a few milliseconds.
BATCH = 100


def run_in_children(cases, run):
    """Return what ``run(case)`` answered for each case that went wrong, or how it ended: in words.

    The most seconds of a case and the most megabytes of a child come with it.

    Parameters
    ----------
    cases : sequence
        Run in order, many in one child.
    run : callable
        Returns "" where all is well, or what is wrong.
    """
    wrong, most, at = {}, {"seconds": 0.0, "megabytes": 0}, 0
    while at < len(cases):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _work(cases[at : at + BATCH], run, writing)
        os.close(writing)
        with os.fdopen(reading, "r") as answers:
            lines = answers.read().splitlines()
        status = os.waitpid(child, 0)[1]
        for line in lines:
            seconds, used, answer = line.split(" ", 2)
            most["seconds"] = max(most["seconds"], float(seconds))
            most["megabytes"] = max(most["megabytes"], int(used))
            if answer:
                wrong[at] = answer
            at += 1
        if status != 0 and at < len(cases):
            signalled = os.WIFSIGNALED(status)
            number = os.WTERMSIG(status) if signalled else 0
            slow = number in (signal.SIGALRM, signal.SIGPROF)
            how = f"took over {SECONDS} s" if slow else f"ended with {status}"
            wrong[at] = how
            at += 1
    return wrong, most


def _work(cases, run, writing):
    # The memory of the parent is not the child's doing.
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    room = (4 * MEGABYTES) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    with os.fdopen(writing, "w") as answers:
        for case in cases:
            begun = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(6 * SECONDS)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    answer = run(case)
            except BaseException as error:
                where = traceback.extract_tb(sys.exc_info()[2])[-1]
                answer = f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000 - before
            if not answer and used > MEGABYTES:
                answer = f"took {used} MB"
            seconds = time.process_time() - begun
            answers.write(f"{seconds:.3f} {used} {' '.join(answer.split())}\n")
            answers.flush()
            if used > MEGABYTES:
                break
    os._exit(0)

"""How long `import stakes` takes beside `import sklearn.ensemble`, in fresh interpreters."""

import subprocess
import sys
import time

from _results import store

TARGET = 1.3
STATEMENTS = {
    "import sklearn.ensemble": "import sklearn.ensemble",
    "import stakes": "import stakes",
    "stakes, costs, metrics": "import stakes.costs, stakes.metrics",
    "stakes, every module": (
        "import stakes.costs, stakes.metrics, stakes.decision, stakes.tree, "
        "stakes.reductions, stakes.boosting, stakes.bagging, stakes.datasets"
    ),
}


def seconds(statement: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - start


def main(repeats: int = 7) -> None:
    best = dict.fromkeys(STATEMENTS, float("inf"))
    for _ in range(repeats):  # interleaved, so that a busy moment hits all alike
        for name, statement in STATEMENTS.items():
            best[name] = min(best[name], seconds(statement))
    base = best["import sklearn.ensemble"]
    ratios = {name: round(value / base, 2) for name, value in best.items()}
    for name, ratio in ratios.items():
        print(f"{name:28s} {ratio:5.2f} x")
    print(f"target for `import stakes`: at most {TARGET} x")
    store("imports", {"times the import of sklearn.ensemble": ratios})


if __name__ == "__main__":
    main()

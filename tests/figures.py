"""What long tests counted, for people to quote: one file for each under build/slow."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "build" / "slow"


def record(name: str, **figures) -> None:
    """Print figures, and keep them in ``build/slow/<name>.json``."""
    print(name, figures)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(figures) + "\n")

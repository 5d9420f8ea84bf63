"""A table of every kind of column, as a file of every format."""

import json

import numpy as np
import pandas as pd


def mixed(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            # The writer of xlsx keeps 16 digits, one less than a number may need.
            "fraction": np.round(rng.normal(size=n) * 1000, 9),
            "whole": rng.integers(0, 100, n),
            "gaps": np.where(rng.random(n) < 0.2, np.nan, np.round(rng.normal(size=n), 9)),
            "job": rng.choice(["cook", "smith", None], n),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D"),
            "risk": rng.choice(["NA", "good"], n),
        }
    )
    frame["job"] = frame["job"].astype(str).where(frame["job"].notna())
    frame["since"] = frame["since"].astype("datetime64[us]")
    return frame


def write_all(frame, folder):
    frame.to_csv(folder / "comma.csv", index=False)
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";", decimal=",")
    frame.to_csv(folder / "packed.csv.gz", index=False)
    frame.to_csv(folder / "tabs.tsv", index=False, sep="\t")
    frame.to_parquet(folder / "table.parquet")
    frame.to_feather(folder / "table.arrow")
    frame.to_excel(folder / "table.xlsx", index=False)
    lines = [
        json.dumps({k: None if pd.isna(v) else v for k, v in row.items()}, default=str)
        for row in frame.to_dict("records")
    ]
    (folder / "table.jsonl").write_text("\n".join(lines))
    return sorted(folder.iterdir())

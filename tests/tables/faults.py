"""A clean table of loans, and faults to plant in it."""

import numpy as np
import pandas as pd


def loans(n=600, seed=0):
    """Return a table in which nothing is wrong."""
    rng = np.random.default_rng(seed)
    late = rng.random(n) < 0.3
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": np.round(rng.lognormal(10, 0.5, n), 2),
            "amount": rng.integers(500, 50_000, n),
            "job": rng.choice(["cook", "smith", "baker"], n),
            "score": np.round(rng.normal(size=n) + late, 3),
            "risk": np.where(late, "bad", "good"),
        }
    )


def with_column(name, values):
    def plant(table):
        rng = np.random.default_rng(1)
        column = pd.Series(values(table, rng), index=table.index)
        return pd.concat([column.rename(name), table], axis=1)

    return plant


def dates(table, rng, written=("{d:02}/{m:02}/{y}",)):
    parts = zip(rng.integers(1, 13, len(table)), rng.integers(13, 29, len(table)))
    return [
        written[i % len(written)].format(d=d, m=m, y=2020 + i % 4)
        for i, (m, d) in enumerate(parts)
    ]


def copies(table):
    return pd.concat([table, table.iloc[:60]], ignore_index=True)


def conflicting(table):
    other = table.iloc[:60].assign(
        risk=table["risk"].iloc[:60].map({"bad": "good", "good": "bad"})
    )
    return pd.concat([table, other], ignore_index=True)


def copies_with_numbers(table):
    table = copies(table)
    return table.assign(nr=np.arange(1, len(table) + 1))


def rare(table):
    return table.assign(risk=np.where(np.arange(len(table)) < 3, "ugly", table["risk"]))


def called_na(table):
    return table.assign(risk=table["risk"].replace("bad", "NA"))


def many_columns(table):
    rng = np.random.default_rng(2)
    values = rng.integers(0, 100, (len(table), 5_000))
    return pd.concat([pd.DataFrame(values).add_prefix("x"), table], axis=1)


def renamed(table):
    return table.rename(columns={"age": 'âge "exact"', "job": " job'"})


def local_numbers(table):
    shown = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in table["income"]]
    return table.assign(income=shown)


def leak(table, rng):
    return np.where(table["risk"] == "bad", "sent to court", "paid back")


def noisy_leak(table, rng):
    wrong = rng.random(len(table)) < 0.01
    return (table["risk"].eq("bad") ^ wrong).astype(int)


def numeric_leak(table, rng):
    return np.where(table["risk"] == "bad", rng.uniform(10, 500, len(table)).round(2), 0.0)


def gap_leak(table, rng):
    return pd.Series(rng.normal(size=len(table)).round(3)).where(table["risk"] == "bad")


# name: (how it is planted, kind of the finding, column of the finding)
FAULTS = {
    "a leak": (with_column("outcome", leak), "leak", "outcome"),
    "a copy of the target": (with_column("code", lambda t, _: t["risk"]), "leak", "code"),
    "a leak with mistakes": (with_column("flag", noisy_leak), "leak", "flag"),
    "a leak in numbers": (with_column("fees", numeric_leak), "leak", "fees"),
    "a leak by what is missing": (with_column("loss", gap_leak), "leak", "loss"),
    "row numbers": (with_column("nr", lambda t, _: np.arange(len(t)) + 1), "identifier", "nr"),
    "identifiers": (
        with_column("customer_id", lambda t, rng: rng.permutation(len(t)) * 7 + 10_000),
        "identifier",
        "customer_id",
    ),
    "one word per row": (
        with_column("contract", lambda t, rng: [f"K-{i:05}" for i in rng.permutation(len(t))]),
        "identifier",
        "contract",
    ),
    "account numbers": (
        with_column("account", lambda t, rng: rng.integers(10**9, 9 * 10**9, len(t))),
        "identifier",
        "account",
    ),
    "a constant": (with_column("country", lambda t, _: ["DE"] * len(t)), "constant", "country"),
    "an empty column": (with_column("fax", lambda t, _: [None] * len(t)), "empty", "fax"),
    "copied rows": (copies, "copies", None),
    "copied rows of another class": (conflicting, "copies", None),
    "copied rows with new numbers": (copies_with_numbers, "copies", None),
    "rare classes": (rare, "rare classes", None),
    "a class called NA": (called_na, "class named missing", None),
    "dates": (with_column("opened", dates), "dates", "opened"),
    "mixed dates": (
        with_column("opened", lambda t, rng: dates(t, rng, ("{d}/{m}/{y}", "{m}/{d}/{y}"))),
        "mixed dates",
        "opened",
    ),
    "local numbers": (local_numbers, "local numbers", "income"),
    "numbers with words among them": (
        with_column(
            "debt", lambda t, rng: [*rng.uniform(1, 9, len(t) - 3).round(3), *["tbd"] * 3]
        ),
        "numbers as text",
        "debt",
    ),
    "free text": (
        with_column("place", lambda t, rng: [f"town {i}" for i in rng.integers(0, 90, len(t))]),
        "text",
        "place",
    ),
    "odd names": (renamed, "odd names", 'âge "exact"'),
    "5,000 columns": (many_columns, "many columns", None),
}

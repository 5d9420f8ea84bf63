"""Make the tables that come with the package: ``python tools/tables.py [FOLDER]``.

Clients, patients and letters that never were: each table is drawn from a rule with a seed, so
that commands of the guide can be typed as they stand. A test makes them again and compares.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

FOLDER = Path(__file__).resolve().parent.parent / "src" / "stakes" / "datasets" / "tables"


def chosen(rng: np.random.Generator, values: list[str], shares: list[float], n: int) -> np.ndarray:
    """Draw n of the values; the last has what is left of the shares."""
    return np.array(values)[np.searchsorted(np.cumsum(shares), rng.random(n), side="right")]


def loans(n: int = 1_200) -> pd.DataFrame:
    """Return loans in the order of their dates; one in four goes bad.

    `score` is what today's scorecard said: it knows income, late payments and little else.
    `interest` is what a good client pays, `loss` what a bad one leaves unpaid.
    """
    rng = np.random.default_rng(35)
    age = np.clip(np.round(rng.gamma(9, 4.2, n)), 19, 79)
    purpose = chosen(rng, ["car", "home", "debts", "business", "other"], [0.32, 0.24, 0.2, 0.1], n)
    job = chosen(
        rng, ["employed", "self-employed", "pensioner", "unemployed"], [0.66, 0.17, 0.11], n
    )
    income = np.round(
        np.exp(rng.normal(7.8, 0.45, n)) * np.where(job == "unemployed", 0.55, 1), -1
    )
    amount = np.round(np.clip(np.exp(rng.normal(8.3, 0.75, n)), 300, 40_000), -1)
    months = rng.choice([6, 12, 18, 24, 36, 48, 60], n)
    late = rng.poisson(np.where(rng.random(n) < 0.25, 2.5, 0.3))
    burden = amount / months / income
    steady = (job == "employed") | (job == "pensioner")
    risky = (
        -2.3
        + np.where(burden > 0.12, 1.6, 0) * (1 + (months >= 36))
        + np.where(late >= 2, 2.4, 0) * ~((purpose == "home") & steady)
        + np.where((purpose == "business") & (job != "employed"), 1.8, 0)
        + np.where((age < 26) | (age > 66), 0.9, 0) * (purpose != "home")
        + np.where((job == "unemployed") & (amount > 3_000), 1.8, 0)
        - np.where(steady & (income > 2_200) & (late == 0), 1.2, 0)
    )
    bad = rng.random(n) < 1 / (1 + np.exp(-1.3 * risky))
    seen = -1.3 + 0.5 * late - 0.0003 * (income - 2_400) + rng.normal(0, 0.7, n)
    days = np.sort(rng.integers(0, 731, n))
    return pd.DataFrame(
        {
            "number": 40_001 + np.arange(n),
            "date": (pd.Timestamp("2023-01-02") + pd.to_timedelta(days, "D")).strftime("%Y-%m-%d"),
            "client": rng.integers(1_000, 1_900, n),
            "age": age.astype(int),
            "job": job,
            "income": income.astype(int),
            "purpose": purpose,
            "amount": amount.astype(int),
            "months": months,
            "late_payments": late,
            "score": np.round(1 / (1 + np.exp(-seen)), 2),
            "interest": np.round(amount * months / 12 * 0.04, 2),
            "loss": np.round(0.75 * amount + 20, 2),
            "risk": np.where(bad, "bad", "good"),
        }
    )


def triage(n: int = 900) -> pd.DataFrame:
    """Return patients with a fever: six in ten have a cold, three the flu, one sepsis."""
    rng = np.random.default_rng(36)
    illness = chosen(rng, ["cold", "flu", "sepsis"], [0.6, 0.3], n)
    kind = np.searchsorted(["cold", "flu", "sepsis"], illness)
    means = {
        "age": ([38, 41, 61], 16, 0),
        "temperature": ([37.6, 38.8, 38.7], 0.6, 1),
        "pulse": ([82, 92, 108], 13, 0),
        "pressure": ([124, 121, 104], 14, 0),
        "breaths": ([16, 18, 23], 3.2, 0),
        "days_ill": ([4, 2.5, 3], 1.4, 0),
    }
    table = {
        name: np.round(np.maximum(np.array(at)[kind] + rng.normal(0, spread, n), 1), digits)
        for name, (at, spread, digits) in means.items()
    }
    table["age"] = np.maximum(table["age"], 16)
    whole = {k: v if means[k][2] else v.astype(int) for k, v in table.items()}
    return pd.DataFrame({**whole, "illness": illness})


def letters(n: int = 900) -> pd.DataFrame:
    """Return people who were asked for a gift by letter: what it cost to write, and not to."""
    rng = np.random.default_rng(37)
    gifts, years = rng.poisson(1.3, n), rng.integers(1, 15, n)
    last = np.round(np.exp(rng.normal(2.6, 0.6, n)) * (gifts > 0), 0)
    months = rng.integers(1, 40, n)
    answers = rng.random(n) < 1 / (1 + np.exp(1.2 - 0.7 * gifts + 0.1 * months))
    gift = np.round(np.where(answers, np.maximum(last, 5) * np.exp(rng.normal(0, 0.3, n)), 0), 2)
    return pd.DataFrame(
        {
            "gifts": gifts,
            "last_gift": last.astype(int),
            "months_since": months,
            "years_known": years,
            "response": np.where(answers, "yes", "no"),
            "cost_of_no": gift,
            "cost_of_yes": np.where(answers, 0, 1.5),
        }
    )


def triage_prices() -> pd.DataFrame:
    """Return a price list for `triage`: rows are the truth, columns the decision."""
    names = ["cold", "flu", "sepsis"]
    prices = [[0, 1, 10], [4, 0, 8], [200, 150, 0]]
    return pd.DataFrame(prices, columns=names).assign(**{r"true \ predicted": names})[
        [r"true \ predicted", *names]
    ]


def tables() -> dict[str, pd.DataFrame]:
    """Return every table, by the name of its file; the latest loans are those to decide."""
    clients = loans()
    return {
        "loans.csv": clients[:1_000],
        "new.csv": clients[1_000:],
        "triage.csv": triage(),
        "triage_prices.csv": triage_prices(),
        "letters.csv": letters(),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, table in tables().items():
        table.to_csv(folder / name, index=False, lineterminator="\n")

"""A log of decisions as the table of a command: what was done, what it cost, how likely it was."""

from typing import Any

import numpy as np

from stakes.cli._app import PriceOptions, ProtocolOptions
from stakes.cli._errors import UserError
from stakes.cli._protocol import check_column, whole_column
from stakes.cli._tables import Table, quote
from stakes.utils._labels import encode_labels


def is_log(options: PriceOptions, protocol: ProtocolOptions, target: str | None) -> bool:
    """Say whether the table is a log; refuse what does not go with one."""
    given = {"--decision": options.decision, "--paid": options.paid}
    missing = [name for name, column in given.items() if column is None]
    if len(missing) == 2:
        if options.propensity is not None:
            raise UserError("--propensity goes with --decision and --paid.")
        return False
    if missing:
        raise UserError(
            f"a log of decisions needs --decision and --paid: say {missing[0]} COLUMN."
        )
    prices = ("costs", "fp", "fn", "tp", "tn", "cost", "positive")
    others = [f"--{name}" for name in prices if getattr(options, name)]
    others += ["--target"] if target is not None else []
    others += [f"--{name}" for name in ("baseline", "test") if getattr(protocol, name) is not None]
    if others:
        raise UserError(
            f"{others[0]} does not go with --decision and --paid: what was done and what it cost is "
            "all that a log knows, and what everything is compared with."
        )
    return True


def decided_of(options: PriceOptions, table: Table) -> np.ndarray:
    """Return what was done, as text."""
    assert options.decision is not None
    return np.array([str(value) for value in whole_column(options.decision, "--decision", table)])


def columns_of(options: PriceOptions) -> dict[str, str]:
    """Return the columns of a log that are no features, with the reason."""
    named = {
        "what was done": options.decision,
        "what it cost": options.paid,
        "how likely it was": options.propensity,
    }
    return {name: why for why, name in named.items() if name is not None}


def costs_of_log(
    options: PriceOptions, table: Table, X: Any, decided: np.ndarray, groups: Any, seed: int
) -> Any:
    """Return what every decision is estimated to have cost, a `LoggedCosts`."""
    from stakes.logged import costs_from_logs
    from stakes.logged._logs import check_seen

    assert options.paid is not None
    check_column(table, options.paid)
    try:
        check_seen(table.frame[options.paid].to_numpy(), *encode_labels(decided))
        numbers = {}
        for option in ("paid", "propensity"):
            column = getattr(options, option)
            if column is not None:
                numbers[option] = whole_column(column, f"--{option}", table).to_numpy()
                if numbers[option].dtype.kind not in "iuf":
                    raise UserError(f"the column {quote(column)} of --{option} holds no numbers.")
        return costs_from_logs(
            X,
            decided,
            numbers["paid"],
            propensities=numbers.get("propensity"),
            groups=groups,
            random_state=seed,
        )
    except ValueError as error:
        raise UserError(f"{table.name}: {error}") from None

"""What a request may hold, from the columns that a model was fitted on."""

from datetime import datetime
from typing import Annotated, Any

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NaiveDatetime,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
)

from stakes.compare import DecisionModel

MOST_ROWS = 10_000


def _as_text(value: Any) -> Any:
    if value is not None and not isinstance(value, str | datetime):
        raise ValueError("a date is text, year-month-day")
    return value


# Text goes by what it says; a missing value is null and nothing else.
NUMBER = Annotated[StrictInt | StrictFloat, Field(allow_inf_nan=False)] | None
KINDS: dict[str, Any] = {
    "number": NUMBER,
    "boolean": StrictBool | None,
    "date": Annotated[NaiveDatetime | None, BeforeValidator(_as_text)],
}
ANYTHING = StrictStr | StrictBool | StrictInt | StrictFloat | None
CLOSED = ConfigDict(extra="forbid")


class Truth(BaseModel):
    """What has become of rows that were decided before, by the names that their requests gave."""

    model_config = CLOSED
    ids: list[str] = Field(min_length=1, max_length=MOST_ROWS)
    classes: list[StrictStr | StrictBool | StrictInt | StrictFloat]


def request_type(model: DecisionModel) -> type[BaseModel]:
    """Return the type of a request: rows, each with every column, and what may come with them."""
    row: Any = Annotated[list[NUMBER], Field(min_length=1)]
    if model.columns is not None:
        kinds = {profile.name: profile.kind for profile in model.profiles}
        # Columns may have any name; those of fields may not.
        fields: dict[str, Any] = {
            f"column_{i}": (KINDS.get(kinds.get(name, ""), ANYTHING), Field(alias=name))
            for i, name in enumerate(model.columns)
        }
        row = create_model("Row", __config__=CLOSED, **fields)
    prices = Annotated[
        list[list[list[float]]] | None,
        Field(description="For each row what each decision (columns) costs by true class (rows)."),
    ]
    ids = Annotated[list[str] | None, Field(description="Names of rows, to which truth may come.")]
    return create_model(
        "Decide",
        __config__=CLOSED,
        rows=(Annotated[list[row], Field(min_length=1, max_length=MOST_ROWS)], ...),
        prices=(prices, None),
        ids=(ids, None),
    )


def columns_of(model: DecisionModel, rows: list) -> list[list]:
    """Return the values of the rows of a request, column by column."""
    if model.columns is None:
        return [list(column) for column in zip(*rows, strict=True)]
    return [[getattr(row, f"column_{i}") for row in rows] for i in range(len(model.columns))]


def table_of(model: DecisionModel, columns: list[list]) -> Any:
    """Return what the model decides about: a DataFrame, or an array where columns have no names."""
    if model.columns is None:
        return np.array(columns, dtype=np.float64).T
    import pandas as pd

    kinds = {profile.name: profile.kind for profile in model.profiles}
    made: dict[str, Any] = {}
    for name, values in zip(model.columns, columns):
        kind = kinds.get(name)
        if kind == "number":
            made[name] = np.array(values, dtype=np.float64)  # None becomes NaN
        elif kind == "date":
            made[name] = pd.to_datetime(values)
        else:
            made[name] = values
    return pd.DataFrame(made)


def prices_of(given: list | None, n_rows: int, model: DecisionModel) -> np.ndarray | None:
    """Return the prices of a request as an array; refuse in one sentence what is none."""
    if given is None:
        return None
    shape = len(model.classes), len(model.decisions)
    if len(given) != n_rows:
        raise ValueError(f"prices has {len(given)} matrices, but there are {n_rows} rows.")
    for i, matrix in enumerate(given):
        widths = sorted({len(row) for row in matrix})
        if len(matrix) != shape[0] or widths != [shape[1]]:
            raise ValueError(
                f"prices[{i}] should have {shape[0]} rows, one for each true class, of {shape[1]} "
                f"numbers, one for each decision; it has {len(matrix)} rows of "
                f"{' and '.join(map(str, widths)) or 'no'} numbers."
            )
    return np.array(given, dtype=np.float64)

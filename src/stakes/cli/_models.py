"""What a model file asks of new rows: how they are read, and their prices."""

from typing import Any

from stakes.cli._errors import UserError


def model_readings(decider: Any) -> dict[str, Any] | None:
    """Return how the columns of a model's table were read, by name."""
    from stakes.tables import ColumnReading

    readings = [ColumnReading.from_dict(known) for known in decider.info.get("readings", [])]
    return {reading.name: reading for reading in readings} or None


def known_prices(decider: Any, table: Any) -> Any:
    """Return the prices of new rows, where they are known when deciding."""
    from stakes.cli._prices import recipe_tensor

    if decider.kind != "deciding":
        return None
    recipe = decider.info.get("prices", {})
    if "columns" in recipe:
        return recipe_tensor(recipe, table)
    if table.cost_tensor is None:
        raise UserError(f"the model needs the prices of each row, which {table.name} has not.")
    return table.cost_tensor

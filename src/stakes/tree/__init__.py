"""The engine: trees grown on costs."""

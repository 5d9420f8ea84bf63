"""Estimator checks and small helpers."""

"""Displays of decisions: computing apart from drawing."""

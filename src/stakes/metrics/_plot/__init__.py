"""Displays: computing apart from drawing."""

"""A page from a comparison: one file, no network, readable without JavaScript."""

from stakes.report._html import render_page
from stakes.report._summarize import summarize

__all__ = ["render_page", "summarize"]

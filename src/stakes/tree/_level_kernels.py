"""Numba kernels that grow a tree level by level, where its rows are spread over processes."""

from stakes.tree._jit import fingerprint, kept_jit
from stakes.tree._kernels import choose, close_node, part_rows
from stakes.tree._steps import compose


def _settle(problem, rules, tables, growth):
    """Write the best split of the node in question, which has been judged."""
    choose(problem, rules, growth)
    close_node(problem, rules, tables, growth)


def _part(problem, tables, growth):
    """Part the rows of the node to split between the next two nodes."""
    part_rows(problem, tables, growth)


settle = kept_jit(compose(_settle, sources=fingerprint()))
part = kept_jit(compose(_part, sources=fingerprint()))

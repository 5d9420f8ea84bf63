"""What several learners share: clones and draws, folds, votes, and simple readings of costs.

A private package below `stakes.tree`, `decision`, `reductions`, `boosting`, `bagging` and `auto`.
They import it, and not each other.
"""

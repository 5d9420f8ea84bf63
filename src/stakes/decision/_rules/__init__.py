"""The rules by which probabilities become decisions.

A file of this folder is found by itself: ``@rule(...)`` beside the class is all that a new rule
needs to be known to `CostDecisionClassifier`, to `compare` and to `stakes.decision`.
"""

import importlib
import pkgutil

for _file in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_file.name}")

"""The types that a model file may hold, besides those that skops trusts by itself.

A fixed list, by exact name: what the methods of this library, the plain model and the
preparation of tables are made of. None of them runs code of the file's choosing when made.
"""

TRUSTED_TYPES = frozenset(
    {
        "stakes.compare._model.ConstantDecision",
        "stakes.compare._prepare.TablePreparation",
    }
)

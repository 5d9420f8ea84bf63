"""What the decisions of a few classifiers cost on the cheques that a bank reads.

A misread amount is paid out: reading a digit too high loses the difference, reading it
too low costs a complaint of 0.3 of the difference and 0.5 for handling it.
"""

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from stakes.datasets import load_dataset
from stakes.decision import CostDecisionClassifier
from stakes.metrics import savings_score, total_cost


def main() -> None:
    cheques = load_dataset("cheques")
    X, y, C = cheques.X, cheques.y, cheques.cost_matrix
    print(f"{len(y)} digits on cheques; what each misreading costs:\n\n{C}\n")
    print(f"{'classifier':24s}{'most probable':>16s}{'least cost':>12s}{'saved':>8s}")
    for model in (
        GaussianNB(),
        LogisticRegression(max_iter=2000, C=0.01),
        RandomForestClassifier(n_estimators=50, random_state=0),
    ):
        usual = cross_val_predict(model, X, y, cv=5)
        decider = CostDecisionClassifier(model, cost_matrix=C, calibration="temperature")
        ours = cross_val_predict(decider, X, y, cv=5)
        before = total_cost(y, usual, cost_matrix=C)
        after = total_cost(y, ours, cost_matrix=C)
        saved = savings_score(y, ours, baseline=usual, cost_matrix=C)
        name = type(model).__name__
        print(f"{name:24s}{before:16.1f}{after:12.1f}{saved:8.0%}")
    constant = min(total_cost(y, np.full(len(y), d), cost_matrix=C) for d in range(10))
    print(f"\nReading every digit alike would cost {constant:.1f} at best.")


if __name__ == "__main__":
    main()

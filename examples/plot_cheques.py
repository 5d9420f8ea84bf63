"""
Cheques: which misread digit is the expensive one
=================================================

A bank reads the digits on cheques. A digit read too high pays out too much: the difference is lost.
Read too low, a client complains: 0.3 of the difference, and 0.5 for handling it. The most probable digit is
not the cheapest to decide for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB

from stakes.datasets import load_dataset
from stakes.decision import CostDecisionClassifier
from stakes.metrics import CostMatrixDisplay, total_cost

cheques = load_dataset("cheques")
X, y, C = cheques.X, cheques.y, cheques.cost_matrix
print(C)

# %%
# The same three models, decided in two ways
# ------------------------------------------
models = {
    "naive Bayes": GaussianNB(),
    "logistic regression": LogisticRegression(max_iter=2000, C=0.01),
    "random forest": RandomForestClassifier(n_estimators=50, random_state=0),
}
before, after = [], []
for model in models.values():
    usual = cross_val_predict(model, X, y, cv=3)
    decider = CostDecisionClassifier(model, cost_matrix=C, calibration="temperature", cv=3)
    ours = cross_val_predict(decider, X, y, cv=3)
    before.append(total_cost(y, usual, cost_matrix=C))
    after.append(total_cost(y, ours, cost_matrix=C))

constant = min(total_cost(y, np.full(len(y), digit), cost_matrix=C) for digit in range(10))
print(f"Reading every digit alike would cost {constant:.0f} at best.")

# %%
# What is saved, and where the rest of the money goes
# ---------------------------------------------------
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
place = np.arange(len(models))
left.bar(place - 0.2, before, 0.4, label="most probable digit")
left.bar(place + 0.2, after, 0.4, label="least expected cost")
left.set_xticks(place, models)
left.set(ylabel="total cost", title="Same models, other decisions")
left.legend()
CostMatrixDisplay.from_predictions(y, ours, cost_matrix=C, ax=right)
right.set_title("Random forest: what each mistake cost")

if __name__ == "__main__":
    plt.show()

"""
Is it worth it?
===============

Net benefit over thresholds for two classes, and what decisions cost along a path of prices for three,
with bands and with deciding the same for all as the rival.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes.datasets import make_known_posterior
from stakes.metrics import BrierCurveDisplay, DecisionCurveDisplay, decision_curve

# %%
# Two weak columns of the breast cancer data: is the model worth more than a biopsy for everybody?
X, y = load_breast_cancer(return_X_y=True)
weak = make_pipeline(StandardScaler(), LogisticRegression())
proba = cross_val_predict(weak, X[:, [4, 9]], 1 - y, cv=5, method="predict_proba")
curve = decision_curve(1 - y, proba, thresholds=[0.1, 0.3, 0.5])
print(curve.values.round(3), curve.best_for_all.round(3))

# %%
# Three classes, from equal prices to ones under which missing the last class is expensive. The
# model's probabilities are too bold: the dashed line is what calibration could save.
data = make_known_posterior(2000, K=3, random_state=0)
bold = data.proba**3
bold /= bold.sum(axis=1, keepdims=True)
ends = [[[0, 1, 1], [1, 0, 1], [1, 1, 0]], [[0, 1, 1], [1, 0, 1], [12, 12, 0]]]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
DecisionCurveDisplay.from_predictions(
    1 - y, proba, labels=[0, 1], name="two weak columns", ax=left
)
BrierCurveDisplay.from_predictions(
    data.y, bold, cost_matrices=ends, n_points=41, name="bold probabilities", ax=right
)
plt.show()

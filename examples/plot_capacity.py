"""
What one more inspection is worth
=================================

A hundred cases a day and time for some inspections. Limits are prices: the curve of the total cost
against the number of places bends by exactly the shadow price.
"""

# %%
# A thousand cases with a known posterior, so that the expected costs are the true ones.
import matplotlib.pyplot as plt
import numpy as np

from stakes.datasets import make_known_posterior
from stakes.decision import CapacityStream, decide_within

data = make_known_posterior(1000, K=3, random_state=0)
free = data.bayes_decisions()
inspect = int(np.bincount(free).argmax())
print(f"Without a limit decision {inspect} is taken {(free == inspect).sum()} times.")

# %%
# With at most 200 places, the best rows get them; the plan says what one more would save.
plan = decide_within(data.expected_costs, {inspect: 200})
print(plan.counts, plan.shadow_prices.round(3))

# %%
# In a stream rows come one after the other. Prices learned on the first thousand keep to a share of
# a fifth, and follow what was used.
stream = CapacityStream({inspect: 0.2}).fit(data.expected_costs)
new = data.sample(20_000, random_state=1)
shares, used = [], 0
for batch in np.array_split(new.expected_costs, 100):
    stream.decide(batch)
    shares.append(stream.counts_[inspect] / stream.n_seen_)
print(f"Used in the end: {shares[-1]:.4f}")

# %%
# The total falls with every place, less and less; the shadow price is its slope.
places = np.arange(0, (free == inspect).sum() + 40, 10)
plans = [decide_within(data.expected_costs, {inspect: int(p)}) for p in places]
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
left.plot(places, [p.cost for p in plans])
left.set(xlabel="places", ylabel="expected cost in sum")
middle.step(places, [p.shadow_prices[inspect] for p in plans], where="post")
middle.set(xlabel="places", ylabel="what one more is worth")
right.plot(np.arange(1, 101), shares)
right.axhline(0.2, linestyle=":", color="black")
right.set(xlabel="batches", ylabel="share used so far")
plt.show()

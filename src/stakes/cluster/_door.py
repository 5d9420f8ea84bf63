"""What collections are handed to, by those who do not know what they are."""

from stakes.cluster._compare import compare, fit_model
from stakes.cluster._lazy import combine, lazy_sums, map_rows, mean_of, measure, score
from stakes.cluster._learn import learn

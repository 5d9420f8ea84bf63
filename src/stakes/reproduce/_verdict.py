"""Our figure beside the published one: beaten, matched or short."""

import math

VERDICTS = ("beaten", "matched", "short")
# Where ours and the printed figure are of different problems: it counts neither way.
NOT_COMPARABLE = "not comparable"
# Where a paper prints no spread, how far from its figure still counts as the same.
TOLERANCE_WITHOUT_SPREAD = {
    "percent_error": 1.0,
    "percent_improvement": 5.0,
    "spread_of_improvement": 5.0,
}
RATE_TOLERANCE = 0.01  # one point of error, as a share
# The spread of improvements from data set to data set: less is steadier.
LOWER_IS_BETTER = {"average_cost", "confusion_norm", "percent_error", "spread_of_improvement"}
HIGHER_IS_BETTER = {"g_mean", "mauc", "accuracy", "percent_improvement"}


def verdict(
    metric: str,
    ours: float,
    published: float,
    *,
    standard_error: float | None = None,
    published_error: float | None = None,
    rounding: float = 0.0,
) -> str:
    """Return ``"beaten"``, ``"matched"`` or ``"short"``.

    Parameters
    ----------
    metric : str
        Says which direction is better, and the tolerance where the paper has no spread. A
        metric without a direction (a sample size) can be matched or short only.
    ours, published : float
        The two figures.
    standard_error, published_error : float, default=None
        The standard errors of the two means.
    rounding : float, default=0.0
        Half a unit of the last printed digit.

    Notes
    -----
    Beaten: better by more than two standard errors of the difference; matched: within
    them, or within the tolerance where the paper prints no spread; short: worse than that.
    A printed 1.000 with a spread of 0.000 is any figure that rounds to it.

    Examples
    --------
    The difference of 6 is less than twice sqrt(4.29**2 + 2**2):

    >>> from stakes.reproduce._verdict import verdict
    >>> verdict("average_cost", 39.7, 33.72, standard_error=2.0, published_error=4.29)
    'matched'
    >>> verdict("average_cost", 20.0, 33.72, standard_error=2.0, published_error=4.29)
    'beaten'
    >>> verdict("percent_error", 25.0, 23.69)
    'short'
    """
    if published_error is not None:
        tolerance = 2 * math.hypot(standard_error or 0.0, published_error)
    elif metric.startswith("rate_"):
        tolerance = RATE_TOLERANCE
    else:
        tolerance = TOLERANCE_WITHOUT_SPREAD.get(metric, 2 * (standard_error or 0.0))
    difference = ours - published
    if abs(difference) <= max(tolerance, rounding) + 1e-12:
        return "matched"
    if metric in LOWER_IS_BETTER or metric.startswith("rate_"):
        return "beaten" if difference < 0 else "short"
    if metric in HIGHER_IS_BETTER:
        return "beaten" if difference > 0 else "short"
    return "short"


def count_verdict(ours: str, published: str) -> str:
    """Compare counts such as ``15-4-1``, wins, losses (and ties), by wins less losses.

    Two standard errors of the difference of two such counts are the margin, each count taken
    for a draw of its own shares.

    Examples
    --------
    Of 20 comparisons 14 won and 5 lost: the standard error of 14 - 5 is 3.9.

    >>> from stakes.reproduce._verdict import count_verdict
    >>> count_verdict("12-7-1", "14-5-1"), count_verdict("5-14-1", "14-5-1")
    ('matched', 'short')
    """
    margins, variances = [], []
    for text in (ours, published):
        counts = [int(part) for part in text.split("-")]
        wins, losses = counts[:2]
        total = sum(counts) if len(counts) == 3 else 20  # significant ones: of the 20 sets
        margins.append(wins - losses)
        variances.append(wins + losses - (wins - losses) ** 2 / total)
    difference = margins[0] - margins[1]
    if abs(difference) <= 2 * math.sqrt(sum(variances)):
        return "matched"
    return "beaten" if difference > 0 else "short"

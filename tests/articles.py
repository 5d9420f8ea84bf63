"""Articles of five topics, as newspapers have them: long, and of words that mostly are common to all."""

import numpy as np
import pandas as pd

TOPICS = ("business", "entertainment", "politics", "sport", "tech")
SYLLABLES = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]


def make_articles(n, seed=0, *, n_words=4000, focus=0.33, blur=0.35, length=(80, 300)):
    """Return n articles as a DataFrame with one column, and their topics.

    Words are as frequent as in any language (Zipf). A word belongs to a topic to some degree, and an
    article has some of its words from another topic.
    """
    rng = np.random.default_rng(2_024)  # the language is the same for every seed
    words = np.array(
        sorted({"".join(rng.choice(SYLLABLES, rng.integers(2, 5))) for _ in range(2 * n_words)})
    )
    words = rng.permutation(words)[:n_words]
    common = 1.0 / (np.arange(n_words) + 2.7)
    common /= common.sum()
    taste = rng.gamma(0.15, size=(len(TOPICS), n_words)) * common
    taste /= taste.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    y = rng.integers(len(TOPICS), size=n)
    texts = []
    for topic in y:
        other = rng.dirichlet(np.full(len(TOPICS), 0.3))
        own = (1 - blur) * taste[topic] + blur * other @ taste
        share = (1 - focus) * common + focus * own
        size = int(rng.integers(*length))
        texts.append(" ".join(rng.choice(words, size, p=share)) + ".")
    return pd.DataFrame({"article": texts}), np.array(TOPICS)[y]

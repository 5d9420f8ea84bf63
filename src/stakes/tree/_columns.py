"""The table of a tree's nodes: what its columns hold, known to `stakes.tree` alone."""

# The question (feature, last bin that goes left, whether missing values go left), the children,
# the depth, the number of training rows; the last is not used.
FEATURE, CUT, MISSING, LEFT, RIGHT, DEPTH, N_ROWS, UNUSED = range(8)
N_COLUMNS = 8
# While a tree grows: where the rows of a node begin, where those on the right do, and where they
# end; how many go left.
START, MIDDLE, STOP, N_LEFT_ROWS = range(7, 11)
N_GROWING = 11
# A node of packed trees is one integer: child (32 bits) | feature (16) | cut (8) | by_set (1) | leaf (1).
CHILD_SHIFT, FEATURE_SHIFT, CUT_SHIFT, SET_SHIFT = 26, 10, 2, 1
WORDS = 4  # uint64 words of the set of bins that go left in a categorical split

"""Numba kernels of the reductions; imported on use."""

import numba as nb
import numpy as np

from stakes.tree._kernels import CUT, FEATURE, LEFT, MISSING, RIGHT

U0 = np.uint64(0)
U1 = np.uint64(1)
WORDS = 4  # uint64 words of a set of at most 255 decisions


@nb.njit(nogil=True, cache=True)
def fire_pairs(codes, nodes, sets, fires, missing, categorical, n_classes, first, stop, out):
    """Write which decisions a tree on (x, decision) accepts for rows first:stop.

    The decision is the feature after the last one of X. A row goes down with the *set* of
    its decisions, which parts only where a node asks for the decision: no pair is built.
    """
    decision = codes.shape[0]
    waiting = np.empty(n_classes + 1, np.int64)
    masks = np.empty((n_classes + 1, WORDS), np.uint64)
    every = np.zeros(WORDS, np.uint64)
    for k in range(n_classes):
        every[k >> 6] |= U1 << np.uint64(k & 63)
    mask = np.empty(WORDS, np.uint64)
    for i in range(first, stop):
        waiting[0] = 0
        masks[0] = every
        top = 1
        while top > 0:
            top -= 1
            node = waiting[top]
            mask[:] = masks[top]
            while nodes[node, LEFT] >= 0:
                f = nodes[node, FEATURE]
                if f == decision:
                    some_left = some_right = U0
                    for w in range(WORDS):
                        some_left |= mask[w] & sets[node, w]
                        some_right |= mask[w] & ~sets[node, w]
                    if some_left != U0 and some_right != U0:
                        waiting[top] = nodes[node, RIGHT]
                        for w in range(WORDS):
                            masks[top, w] = mask[w] & ~sets[node, w]
                            mask[w] &= sets[node, w]
                        top += 1
                    node = nodes[node, LEFT] if some_left != U0 else nodes[node, RIGHT]
                    continue
                b = np.int64(codes[f, i])
                if categorical[f]:
                    goes = (sets[node, b >> 6] >> np.uint64(b & 63)) & U1 == U1
                elif b == missing[f]:
                    goes = nodes[node, MISSING] == 1
                else:
                    goes = b <= nodes[node, CUT]
                node = nodes[node, LEFT] if goes else nodes[node, RIGHT]
            if fires[node]:
                for k in range(n_classes):
                    if (mask[k >> 6] >> np.uint64(k & 63)) & U1 == U1:
                        out[i - first, k] = True

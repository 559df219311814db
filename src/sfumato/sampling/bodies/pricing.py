r"""Which column enters a basis: the first, among +-f_1 .. +-f_n, that the turning normal y - tau beta brings to 1.

With the products <y, f_j> kept up to date that takes O(n d).  Where columns are many, most of them are far from 1 and
stay there: products move by at most |f_j| times as far as the normal does (Cauchy and Schwarz).  So those within REACH
of 1 are listed, and only they are asked, until the normal would have moved so far from where they were listed that
another column could have come first; then they are listed anew.  The column that enters is the same.

Tie rule: among columns that reach 1 within TIE of the first, the one with the largest pivot enters.  Facets
with more than d columns then have several bases with one normal; the gauge and the normal do not depend on
which, and a point that moves on never meets the same basis twice, so ties cannot cycle.
"""

from __future__ import annotations

import numpy as np

from sfumato.deferred import njit

__all__ = ["FAST", "follow", "forget", "price", "workroom"]

TIE = 1e-10
SMALLEST = 1e-8  # pivots below this are rounding: a column so nearly dependent on the others may wait
HUGE = 1e300
REACH = 0.3  # of the products that are listed, below 1
MARGIN = 1e-6  # over the rounding of products and normals
MANY = 8  # columns a dimension, from which listing pays
FAST = {"reassoc", "contract", "nsz", "nnan", "arcp"}  # sums may be reordered; nothing here is NaN


@njit(cache=True)
def workroom(columns):  # type: ignore[no-untyped-def]
    """What pivots work in: alpha and steps; two arrays of d; the list, its products, numbers and places; where the
    normal was then; how many are listed (0: none yet, -1: never) and the longest column.
    """
    d, n = columns.shape
    listed = n > MANY * d
    longest = 0.0
    for j in range(n):
        square = 0.0
        for i in range(d):
            square += columns[i, j] * columns[i, j]
        longest = max(longest, square)
    return (
        np.empty(n), np.empty(n), np.empty(d), np.empty(d), np.empty((d, n if listed else 1)), np.empty(n),
        np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(d),
        np.array([0.0 if listed else -1.0, np.sqrt(longest)]),
    )  # fmt: skip


@njit(cache=True)
def forget(room):  # type: ignore[no-untyped-def]
    """The list holds no longer."""
    if room[9][0] > 0.0:
        room[9][0] = 0.0


@njit(cache=True, fastmath=FAST)
def entering(alpha, products, steps, n):  # type: ignore[no-untyped-def]
    """The first of n columns to reach 1 (sign 1.0) or -1 (sign -1.0), and its step tau: (column, sign, tau)."""
    for j in range(n):
        size = abs(alpha[j])
        room = 1.0 - products[j] if alpha[j] < 0.0 else 1.0 + products[j]
        steps[j] = max(room, 0.0) / size if size > SMALLEST else HUGE
    first = HUGE
    for j in range(n):
        first = min(first, steps[j])
    chosen, largest = -1, 0.0
    for j in range(n):
        if steps[j] <= first + TIE and abs(alpha[j]) > largest:
            chosen, largest = j, abs(alpha[j])
    return chosen, (1.0 if alpha[chosen] < 0.0 else -1.0), first


@njit(cache=True, fastmath=FAST)
def multiply(vector, matrix, out, n):  # type: ignore[no-untyped-def]
    """The products of a vector with the first n columns, into `out`."""
    for j in range(n):
        out[j] = 0.0
    for i in range(vector.size):
        scale = vector[i]
        for j in range(n):
            out[j] += scale * matrix[i, j]


@njit(cache=True, fastmath=FAST)
def enlist(columns, normal, products, room):  # type: ignore[no-untyped-def]
    """List the columns within REACH of 1, with all products anew."""
    near, held, ids, place, anchor, sizes = room[4], room[5], room[6], room[7], room[8], room[9]
    d, n = columns.shape
    multiply(normal, columns, products, n)
    count = 0
    for j in range(n):
        if abs(products[j]) > 1.0 - REACH:
            ids[count], place[j], held[count] = j, count, products[j]
            count += 1
    for i in range(d):
        anchor[i] = normal[i]
        for j in range(count):
            near[i, j] = columns[i, ids[j]]
    sizes[0] = count


@njit(cache=True, fastmath=FAST)
def price(columns, state, leaving, room):  # type: ignore[no-untyped-def]
    """The column that enters when weights[leaving] leaves: (column, sign, tau, its entry of alpha)."""
    basis, inverse, normal, products = state[0], state[3], state[4], state[5]
    alpha, steps, near, held, ids, place, anchor, sizes = (
        room[0], room[1], room[4], room[5], room[6], room[7], room[8], room[9],
    )  # fmt: skip
    d, n = columns.shape
    beta = inverse[leaving]
    for _ in range(2):
        if sizes[0] > 0.0:
            count = int(sizes[0])
            multiply(beta, near, alpha, count)
            for k in range(d):
                if k != leaving:
                    alpha[place[basis[k]]] = 0.0
            chosen, sign, step = entering(alpha, held, steps, count)
            square = 0.0
            for i in range(d):
                square += (normal[i] - step * beta[i] - anchor[i]) ** 2
            if sizes[1] * np.sqrt(square) <= REACH - MARGIN:
                return ids[chosen], sign, step, alpha[chosen]
        if sizes[0] >= 0.0:
            enlist(columns, normal, products, room)
    forget(room)
    multiply(beta, columns, alpha, n)
    for k in range(d):
        if k != leaving:
            alpha[basis[k]] = 0.0
    chosen, sign, step = entering(alpha, products, steps, n)
    return chosen, sign, step, alpha[chosen]


@njit(cache=True, fastmath=FAST)
def follow(products, step, room):  # type: ignore[no-untyped-def]
    """The products after the step that was just priced."""
    alpha, held, sizes = room[0], room[5], room[9]
    if sizes[0] > 0.0:
        for j in range(int(sizes[0])):
            held[j] -= step * alpha[j]
    else:
        for j in range(products.size):
            products[j] -= step * alpha[j]

#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A controller and an envelope of our own for phydrl-cartpole: docs/experiments/phydrl.md.

envelope.py   prints the keys of [Learner]

The model is the plant linearised upright, friction included. For any F that makes S = A + B F stable and any positive definite W,
the P of S' P S / Alpha + W = P fulfils the linear matrix inequality S' P S < Alpha P, and each P that fulfils it has such a W. So a
search over F and the factor of W is one over the whole set, and looks for the greatest volume of s' P s <= 1 within the safety set
and within the forces that the cart has. It ends at a local best, which is enough: `verify` checks the inequality anew."""
import math, random

GRAVITY, CART, POLE, LENGTH, FRICTION, POLE_FRICTION, STEP = 9.8, 0.94, 0.23, 0.32, 5.0, 0.0011, 1 / 30
SAFE = (0.9, None, 0.8, None)
FORCE = 15.0
ALPHA = 0.98
TRIALS = 12000
N = 4


def model():
    """A and B of a step, at rest and upright."""
    mass = CART + POLE
    inertia = LENGTH * (4 / 3 - POLE / mass)
    turn = [0, FRICTION / mass / inertia, GRAVITY / inertia, -POLE_FRICTION / (POLE * LENGTH) / inertia, -1 / mass / inertia]
    push = [-POLE * LENGTH / mass * x for x in turn]
    push[1] -= FRICTION / mass
    push[4] += 1 / mass
    rates = [[0, 1, 0, 0, 0], push, [0, 0, 0, 1, 0], turn]
    a = [[(i == k) + STEP * rates[i][k] for k in range(N)] for i in range(N)]
    return a, [STEP * rates[i][4] for i in range(N)]


def times(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def turned(a):
    return [list(column) for column in zip(*a)]


def inverse(a):
    """And the determinant, of a positive definite matrix."""
    rows = [list(row) + [float(i == k) for k in range(N)] for i, row in enumerate(a)]
    det = 1.0
    for i in range(N):
        det *= rows[i][i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(N):
            if k != i:
                rows[k] = [x - rows[k][i] * y for x, y in zip(rows[k], rows[i])]
    return [row[N:] for row in rows], det


def closed_loop(a, b, f):
    return [[a[i][k] + b[i] * f[k] for k in range(N)] for i in range(N)]


def lyapunov(loop, w):
    """P of loop' P loop / ALPHA + W = P, by doubling; None: the sum has no end."""
    p, power = w, [[x / math.sqrt(ALPHA) for x in row] for row in loop]
    for _ in range(11):
        more = times(turned(power), times(p, power))
        p = [[x + y for x, y in zip(*rows)] for rows in zip(p, more)]
        power = times(power, power)
        if not all(abs(x) < 1e6 for row in power for x in row):
            return None
    return p if max(abs(x) for row in power for x in row) < 1e-6 else None


def regulator(a, b):
    """F of the linear-quadratic regulator with weights 1, where the search begins."""
    p = [[float(i == k) for k in range(N)] for i in range(N)]
    for _ in range(2000):
        pb = [sum(p[i][k] * b[k] for k in range(N)) for i in range(N)]
        scale = 0.01 + sum(b[i] * pb[i] for i in range(N))
        f = [-sum(pb[i] * a[i][k] for i in range(N)) / scale for k in range(N)]
        loop = closed_loop(a, b, f)
        p = times(turned(a), times(p, loop))
        p = [[(p[i][k] + p[k][i]) / 2 + (i == k) for k in range(N)] for i in range(N)]
    return f


def envelope(a, b, numbers):
    """The logarithm of the volume, and the largest P of this direction that keeps to the bounds; None: the loop is too slow."""
    f, factor = numbers[:N], numbers[N:]
    lower = [[factor[i * (i + 1) // 2 + k] if k <= i else 0.0 for k in range(N)] for i in range(N)]
    w = times(lower, turned(lower))
    w = [[x + (i == k) * 1e-6 for k, x in enumerate(row)] for i, row in enumerate(w)]
    p = lyapunov(closed_loop(a, b, f), w)
    if p is None:
        return None
    q, det = inverse(p)
    most = [q[i][i] / SAFE[i] ** 2 for i in range(N) if SAFE[i]]
    most.append(sum(f[i] * q[i][k] * f[k] for i in range(N) for k in range(N)) / FORCE ** 2)
    scale = max(most) * 1.0001  # for what rounding adds
    return -math.log(det) - N * math.log(scale), [[x * scale for x in row] for row in p]


def search():
    """F and P. The search takes a step that is better and makes the next ones longer; else it makes them shorter."""
    a, b = model()
    draw = random.Random(1)
    numbers = [*regulator(a, b), *(float(i == k) for i in range(N) for k in range(i + 1))]
    best, step = envelope(a, b, numbers), 0.1
    for _ in range(TRIALS):
        trial = [x + step * (abs(x) + 0.01) * draw.gauss(0, 1) for x in numbers]
        found = envelope(a, b, trial)
        if found and found[0] > best[0]:
            numbers, best, step = trial, found, step * 1.5
        else:
            step = max(step * 0.9, 1e-4)
    return a, b, numbers[:N], best[1]


def keys():
    a, b, f, p = search()
    p = [[p[max(i, k)][min(i, k)] for k in range(N)] for i in range(N)]
    text = lambda values: " ".join(f"{x:.8g}" for x in values)
    return {"ModelA": text(x for row in a for x in row), "ModelB": text(b), "ControllerF": text(f), "ControllerGain": "1",
            "EnvelopeP": text(x for row in p for x in row), "Alpha": f"{ALPHA:g}", "SafetySet": text(x or 0 for x in SAFE)}


if __name__ == "__main__":
    for key, value in keys().items():
        print(f"{key}={value}")

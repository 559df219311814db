"""What holds of every finite protocol, checked on its exact channel: the claim, the estimates, and the draws.

`check_claim`: rows are laws; the claim is the channel's loss, not below it and not above the target.
`check_estimates`: the estimate of a single report has the truth as mean and `variance` as variance, over all reports.
`check_draws`: chi-square of reports drawn from each row; a channel of another epsilon must be refused.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from sfumato.randomness import seeded
from statistical import ALPHA, pooled_pvalue


def check_claim(protocol, target):
    channel, outputs, claim = protocol.channel(), protocol.outputs(), protocol.guarantee()
    assert all(type(p) is Fraction or p == 0 for row in channel for p in row)
    assert all(sum(row) == 1 for row in channel)
    assert len(outputs) == len(channel[0])
    assert protocol.valid(outputs).all()
    assert len({protocol.encode(outputs[i : i + 1]) for i in range(len(outputs))}) == len(outputs)
    delta = Fraction(getattr(claim, "delta", 0.0))
    exact = least_epsilon(channel, delta)
    assert exact <= claim.epsilon <= target.epsilon
    assert claim.epsilon == pytest.approx(exact, abs=1e-12)  # no more is claimed than what is so


def least_epsilon(channel, delta=Fraction(0)):
    """The exact loss over all pairs of rows, as a float that is not above it by more than one rounding."""
    if not delta:
        worst = max(max(column) / min(column) for column in zip(*channel, strict=True))
        return math.nextafter(math.log(worst), 0)
    return max(_pair_epsilon(a, b, delta) for a in channel for b in channel if a is not b)


def _pair_epsilon(a, b, delta):
    """The least e^epsilon with sum (a - e^epsilon b)^+ <= delta, exactly, from the breakpoints a/b."""
    top = Fraction(0)
    ratios = sorted({p / q for p, q in zip(a, b, strict=True)}, reverse=True)
    for ratio in ratios:
        above = [(p, q) for p, q in zip(a, b, strict=True) if p / q >= ratio]
        mass, other = sum(p for p, _ in above), sum(q for _, q in above)
        top = max(top, (mass - delta) / other)
    return math.nextafter(math.log(top), 0) if top > 1 else 0.0


def check_estimates(protocol, truths, means):
    """`truths[i]` is what `variance` takes for row i; `means[i]` is the vector that row i must estimate."""
    outputs = protocol.outputs()
    single = np.array([protocol.estimate(protocol.tally(outputs[i : i + 1]), 1) for i in range(len(outputs))])
    channel = np.array(protocol.channel(), dtype=np.float64)
    means = np.asarray(means, dtype=np.float64)
    found = channel @ single
    np.testing.assert_allclose(found, means, atol=1e-8 * np.abs(single).max())
    variance = channel @ single**2 - found**2
    claimed = np.array([protocol.variance(1, truth) for truth in truths])
    np.testing.assert_allclose(variance, claimed, rtol=1e-6, atol=1e-9 * variance.max())
    assert np.all(claimed <= protocol.variance(1) * (1 + 1e-9))
    assert claimed.sum(axis=1).max() <= protocol.risk(1) * (1 + 1e-9)
    np.testing.assert_allclose(protocol.variance(7), protocol.variance(1) / 7)


def check_draws(protocol, other, values, seed, samples=60_000):
    """Reports of each value follow their row of the channel; those of `other`, another epsilon, must not pass for it.

    Power: with rows 20 % apart in epsilon, n sum (p - q)^2 / q exceeds 14 sqrt(2 k) for the sizes used here.
    """
    rng = seeded(seed)
    outputs = protocol.outputs()
    keys = {protocol.encode(outputs[i : i + 1]): i for i in range(len(outputs))}
    refused = False
    for row, value in enumerate(values):
        observed = _counts(protocol, keys, protocol.randomize([value] * samples, rng))
        expected = np.array(protocol.channel()[row], dtype=np.float64) * samples
        found = pooled_pvalue(observed, expected)
        assert found >= ALPHA, f"row {row} is refused: p = {found:.3g}"
        wrong = np.array(other.channel()[row], dtype=np.float64) * samples
        refused |= pooled_pvalue(observed, wrong) < ALPHA
    assert refused, "no power: another epsilon passes"


def _counts(protocol, keys, reports):
    width = protocol.report_bytes
    payload = np.frombuffer(protocol.encode(reports), dtype=np.uint8).reshape(-1, width)
    rows, counts = np.unique(payload, axis=0, return_counts=True)
    observed = np.zeros(len(keys))
    for row, count in zip(rows, counts, strict=True):
        observed[keys[row.tobytes()]] = count
    return observed

"""The samplers as docs/formats/samplers.md describes them, one value at a time, in plain numbers: no code is shared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

GRAIN = 2**62


class Words:
    """Random words, taken in order."""

    def __init__(self, words: Iterator[int]) -> None:
        self.words = words

    def word(self) -> int:
        return next(self.words)

    def coin(self, p: str) -> bool:
        return (self.word() >> 2) < Fraction(p) * GRAIN

    def uniform(self, h: int) -> int:
        while True:
            product = (self.word() >> 32) * h
            if product % 2**32 >= 2**32 % h:
                return product >> 32

    def together(self, h: int, n: int) -> list[int]:
        """n uniform numbers, two from a word; those that would be unfair are drawn again one by one."""
        words = [self.word() for _ in range((n + 1) // 2)]
        products = [half * h for word in words for half in (word >> 32, word % 2**32)]
        waiting = [place for place, product in enumerate(products) if product % 2**32 < 2**32 % h]
        while waiting:
            for place in waiting:
                products[place] = (self.word() >> 32) * h
            waiting = [place for place in waiting if products[place] % 2**32 < 2**32 % h]
        return [product >> 32 for product in products[:n]]

    def bits(self, p: str, k: int) -> int:
        """A bitmap of k bits, each one with probability p."""
        share, words, found = Fraction(p), ((k + 7) // 8 + 7) // 8, 0
        for digit in range(share.denominator.bit_length() - 1):
            row = sum(self.word() << 64 * place for place in range(words))
            found = found | row if share.numerator >> digit & 1 else found & row
        return found % 2**k

    def unit(self) -> float:
        return (self.word() >> 11) * 2.0**-53


def number(value: int, most: int) -> bytes:
    size = next(size for size in (1, 2, 4, 8) if most <= 256**size)
    return value.to_bytes(size, "little")


def bitmap(value: int, k: int) -> bytes:
    return value.to_bytes((k + 7) // 8, "little")


def place(record: dict[str, Any], value: float, steps: int) -> int:
    low, high = float(record["low"]), float(record["high"])
    return round((min(max(value, low), high) - low) / (high - low) * steps)


def windowed(words: Words, record: dict[str, Any], start: int, size: int) -> int:
    inside, kept, anywhere = (
        start + words.uniform(int(record["window"])), words.coin(record["informed"]), words.uniform(size),
    )  # fmt: skip
    return inside if kept else anywhere


def report(record: dict[str, Any], value: Any, words: Words) -> bytes:
    """The report that the description makes of these words."""
    return globals()["draw_" + record["type"]](record, value, words)


def draw_rappor(record: dict[str, Any], value: int, words: Words) -> bytes:
    k = int(record["k"])
    kept = words.bits(record["flip"], k) & ~(1 << value)
    kept |= (not words.coin(record["flip"])) << value
    ones, zeros = words.bits(record["p"], k), words.bits(record["q"], k)
    return bitmap((kept & ones) | (~kept & zeros) % 2**k, k)


def draw_subset(record: dict[str, Any], value: int, words: Words) -> bytes:
    k, size = int(record["k"]), int(record["size"])
    included, width = words.coin(record["inclusion"]), len(number(0, k))
    listed = size * width < (k + 7) // 8
    if listed and size**2 <= k:
        while len(set(drawn := words.together(k - 1, size))) < size:
            pass
        members = [other + (other >= value) for other in drawn]
        members[0] = value if included else members[0]
        return b"".join(number(member, k) for member in sorted(members))
    rows = words.bits(str(Fraction(32 * size // k, 32)), k) & ~(1 << value)
    lacking = size - included - rows.bit_count()
    rows |= (lacking > 0) << value
    state = 0 if lacking > 0 else 1
    while lacking:
        spot = words.uniform(k)
        if rows >> spot & 1 == state:
            rows ^= 1 << spot
            lacking += 1 if state else -1
    rows = rows & ~(1 << value) | included << value
    return b"".join(number(i, k) for i in range(k) if rows >> i & 1) if listed else bitmap(rows, k)


def draw_hadamard(record: dict[str, Any], value: int, words: Words) -> bytes:
    blocks = int(record["blocks"])
    block = 1 << (-(-int(record["k"]) // blocks)).bit_length()
    row, spot = value // blocks + 1, words.uniform(block)
    spot ^= (row & -row) if (row & spot).bit_count() % 2 else 0
    kept, anywhere = words.coin(record["informed"]), words.uniform(blocks * block)
    return number(value % blocks * block + spot if kept else anywhere, blocks * block)


def draw_tabulated(record: dict[str, Any], value: int, words: Words) -> bytes:
    drawn, total = words.word() >> 2, 0
    for mark, (subset, low) in enumerate(zip(record["subsets"], record["units"], strict=True)):
        total += int(int(low) * Fraction(record["ratio"])) if int(subset) >> value & 1 else int(low)
        if drawn < total:
            return number(mark, len(record["units"]) + 1)
    return number(len(record["units"]), len(record["units"]) + 1)


def draw_laplace(record: dict[str, Any], value: float, words: Words) -> bytes:
    scale, steps = int(record["scale"]), int(record["steps"])

    def falls(part: int) -> bool:
        j = 1
        while words.uniform(scale * j) < part:
            j += 1
        return j % 2 == 1

    while True:
        rest, size = words.uniform(scale), 0
        if kept := falls(rest):
            while falls(scale):
                size += 1
        size, negative = rest + scale * size, words.uniform(2) == 1
        if kept and not (negative and size == 0):
            break
    noisy = place(record, value, steps) + (-size if negative else size)
    return number(2**62 + min(max(noisy, -80 * scale), steps + 80 * scale), 2**64)


def draw_piecewise(record: dict[str, Any], value: float, words: Words) -> bytes:
    size = int(record["steps"]) + int(record["window"])
    return number(windowed(words, record, place(record, value, int(record["steps"])), size), size)


draw_square = draw_piecewise


def draw_hybrid(record: dict[str, Any], value: float, words: Words) -> bytes:
    steps, tilt = int(record["steps"]), int(record["tilt"])
    size, spot = steps + int(record["window"]), place(record, value, steps)
    wave = windowed(words, record, spot, size)
    bit = words.coin(str(Fraction(2**61 + tilt * spot - tilt * steps // 2, GRAIN)))
    return number(wave if words.coin(record["mixture"]) else size + bit, size + 2)


def draw_window(record: dict[str, Any], value: float, words: Words) -> bytes:
    scores, window = list(map(int, record["scores_of"])), int(record["window"])
    sums = [sum(scores[i : i + window]) for i in range(len(scores) - window + 1)]
    spot = place(record, value, sums[-1] - sums[0]) + sums[0]
    first = max(i for i in range(len(sums) - 1) if sums[i] <= spot)
    start = first + (words.uniform(sums[first + 1] - sums[first]) < spot - sums[first])
    return number(windowed(words, record, start, len(scores)), len(scores))


def draw_hypercube(record: dict[str, Any], value: list[float], words: Words) -> bytes:
    d, steps = int(record["dimension"]), int(record["steps"])
    spots = [place(record, one, steps) for one in value]
    vertex = [drawn < spot for drawn, spot in zip(words.together(steps, d), spots, strict=True)]
    signs = [drawn == 1 for drawn in words.together(2, d)]
    wrong = 2 * sum(z == x for z, x in zip(signs, vertex, strict=True)) < d
    turned = wrong != (not words.coin(record["toward"]))
    return bitmap(sum((z != turned) << i for i, z in enumerate(signs)), d)


def draw_coordinates(record: dict[str, Any], value: list[float], words: Words) -> bytes:
    chosen, inner = words.uniform(int(record["dimension"])), record["inner"]
    steps, tilt = int(inner["steps"]), int(inner["tilt"])
    spot = place(inner, value[chosen], steps)
    bit = words.coin(str(Fraction(2**61 + tilt * spot - tilt * steps // 2, GRAIN)))
    return number(chosen, int(record["dimension"])) + number(bit, 2)


def draw_privunit(record: dict[str, Any], value: list[float], words: Words) -> bytes:
    d, gamma = int(record["dimension"]), float(record["gamma"])
    length = math.hypot(*value)
    u = [one / length for one in value] if length else [1.0] + [0.0] * (d - 1)
    if not words.unit() < (1 + min(length, 1.0)) / 2:
        u = [-one for one in u]
    inside, a = words.coin(record["toward"]), (d - 3) / 2
    rate, span = 2 * a * gamma / (1 - gamma**2), 1 - gamma
    height = 0.0
    while inside:
        drawn = words.unit()
        steep = rate * span > 1
        height = gamma - math.log1p(drawn * math.expm1(-rate * span)) / rate if steep else gamma + drawn * span
        fit = a * (math.log1p(-(height**2)) - math.log1p(-(gamma**2))) if a else 0.0
        if math.log1p(-words.unit()) <= fit + (rate * (height - gamma) if steep else 0.0):
            break
    while True:
        half = (d + 1) // 2
        radii = [math.sqrt(-2 * math.log1p(-words.unit())) for _ in range(half)]
        angles = [2 * math.pi * words.unit() for _ in range(half)]
        turns = [math.cos(angle) for angle in angles] + [math.sin(angle) for angle in angles]
        g = [radius * turn for radius, turn in zip(radii * 2, turns, strict=True)][:d]
        along = sum(x * y for x, y in zip(g, u, strict=True))
        rest = [x - along * y for x, y in zip(g, u, strict=True)]
        side = math.hypot(*rest)
        if inside or along / math.hypot(along, side) < gamma:
            break
    height = height if inside else along / math.hypot(along, side)
    across = math.sqrt(max(0.0, 1 - height**2)) / side
    exact = [min(max((height * x + across * y + 1) / 2, 0.0), 1.0) * 65_535 for x, y in zip(u, rest, strict=True)]
    steps = [math.floor(one) + (words.unit() < one - math.floor(one)) for one in exact]
    return b"".join(number(step, 65_536) for step in steps)

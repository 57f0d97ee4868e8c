"""The haar mechanism: noise at the midpoint of a block from the noise at its two ends.

docs/guarantees.md, "Mechanism"; the paper has no such mechanism. Over n = 2^k pushes,
with independent integer draws z(1..n), one per push number,

    N(0) = 0,    N(n) = z(n) / 3,    N(mid) = (N(left) + N(right)) / 2 + z(mid) / 4

for each dyadic block (left, right) with mid = (left + right) / 2. All values are exact
fractions. The release is count + floor(N + 1/2): the only rounding that commutes with
adding an integer, and hence the only one that is post-processing of count + N.

The same mechanism as matrices: U has one integer row per draw, L = U^-1 maps draws to
noise. A unit change of the count from push l on moves U times the counts by the sum of
the columns l..n of U, so the squared sensitivity is the largest squared norm of these.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Matrix = list[list[Fraction]]
NodeNoise = Callable[[int], int]


def padded(leaves: int) -> int:
    """The smallest power of two that is at least `leaves`."""
    n = 1
    while n < leaves:
        n *= 2
    return n


def noise_at(push: int, n: int, noise: NodeNoise) -> Fraction:
    """N(push), by halving the block (0, n) until its midpoint is `push`."""
    left, right = 0, n
    at_left, at_right = Fraction(0), Fraction(noise(n), 3)
    if push in (left, right):
        return at_left if push == left else at_right
    while True:
        mid = (left + right) // 2
        at_mid = (at_left + at_right) / 2 + Fraction(noise(mid), 4)
        if push == mid:
            return at_mid
        if push < mid:
            right, at_right = mid, at_mid
        else:
            left, at_left = mid, at_mid


def rounded(value: Fraction) -> int:
    """floor(value + 1/2): ties round up, whatever the sign."""
    return (value + Fraction(1, 2)).__floor__()


class HaarMechanism:
    """Running totals of a stream of at most `leaves` integers, released with noise."""

    def __init__(self, noise: NodeNoise, *, leaves: int) -> None:
        self.noise = noise
        self.n = padded(leaves)
        self.time = 0
        self.total = 0

    def feed(self, amount: int) -> int:
        """Add one element of the stream; return the released running total."""
        self.time += 1
        if self.time > self.n:
            raise ValueError(f"push: expected at most {self.n}, got {self.time}")
        self.total += amount
        # The sum with the count is rounded, as in the guarantee, not N alone.
        return rounded(self.total + noise_at(self.time, self.n, self.noise))


def strategy_matrix(n: int) -> Matrix:
    """U for n = 2^k: row p - 1 belongs to the draw of push p, column t - 1 to push t.

    3 on the root's own time n; in each other row 4 on the row's own time and -2 on the
    two times that bound its block, of which time 0 has no column.
    """
    matrix = [[Fraction(0)] * n for _ in range(n)]
    matrix[n - 1][n - 1] = Fraction(3)

    def fill(left: int, right: int) -> None:
        if right - left < 2:
            return
        mid = (left + right) // 2
        matrix[mid - 1][mid - 1] = Fraction(4)
        matrix[mid - 1][right - 1] = Fraction(-2)
        if left > 0:
            matrix[mid - 1][left - 1] = Fraction(-2)
        fill(left, mid)
        fill(mid, right)

    fill(0, n)
    return matrix


def decoder_matrix(n: int) -> Matrix:
    """L for n = 2^k, from the recursion: column v - 1 is the noise if only z(v) = 1."""
    return [
        [noise_at(push, n, lambda node, v=v: int(node == v)) for v in range(1, n + 1)]  # type: ignore[misc]
        for push in range(1, n + 1)
    ]


def product(a: Matrix, b: Matrix) -> Matrix:
    """The matrix product, by its definition."""
    columns = list(zip(*b, strict=True))
    return [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns]
        for row in a
    ]


def identity(n: int) -> Matrix:
    """The identity matrix."""
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def sensitivity2(matrix: Matrix) -> Fraction:
    """The maximum over l of || U 1_{t >= l} ||^2, by trying every l."""
    n = len(matrix)
    return max(
        sum((sum(row[first:], Fraction(0)) ** 2 for row in matrix), Fraction(0))
        for first in range(n)
    )


def variances(decoder: Matrix) -> list[Fraction]:
    """The variance of N(1), ..., N(n) if every draw has variance 1."""
    return [sum((x * x for x in row), Fraction(0)) for row in decoder]

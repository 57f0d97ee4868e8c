"""GaussBM, the Gaussian binary mechanism of the paper, with the nodes it stores.

Algorithm "GaussBM" of arXiv 2507.03361, the binary tree over time of Chan, Shi and Song
(2011) with Gaussian noise, line by line. The core stores no nodes: the node closed at time
t is the Fenwick node t, and the core draws its noise when it is read.

Corrections: noise is an integer per node, sigma (its standard deviation) is an input of the
caller, and only the noisy sums are public: the nodes alpha are exact counts, so the
mechanism must not return them, as the paper's "O with its nodes" does.
"""

from __future__ import annotations

from collections.abc import Callable

NodeNoise = Callable[[int], int]


def binary_expansion(time: int) -> list[int]:
    """The levels j with bit j of `time` set, lowest first."""
    return [level for level in range(time.bit_length()) if (time >> level) & 1]


class GaussianBinaryMechanism:
    """Running totals of a stream of integers, each total a sum of noisy nodes.

    `noise(v)` is the noise of node v, where v is the time at which the node is closed,
    that is, its last leaf. The node closed at v with lowest set bit i covers the 2^i
    leaves v - 2^i + 1 .. v. Each node is closed once, so its noise is asked for once.
    """

    def __init__(self, noise: NodeNoise) -> None:
        self.noise = noise
        self.time = 0
        self.alpha: dict[int, int] = {}  # level -> exact sum of the open node there
        self.alpha_hat: dict[int, int] = {}  # level -> the same sum with its noise
        self.closed: dict[int, int] = {}  # node -> exact sum, kept for the oracle's own tests

    def feed(self, amount: int) -> int:
        """Add one element of the stream; return the released running total."""
        self.time += 1
        # i <- the lowest set bit of t
        i = binary_expansion(self.time)[0]
        # alpha_i <- sum of alpha_j for j < i, plus x_t
        self.alpha[i] = sum(self.alpha.get(j, 0) for j in range(i)) + amount
        # alpha_j, alpha-hat_j <- 0 for j < i
        for j in range(i):
            self.alpha[j] = 0
            self.alpha_hat[j] = 0
        # alpha-hat_i <- alpha_i + noise
        self.alpha_hat[i] = self.alpha[i] + self.noise(self.time)
        self.closed[self.time] = self.alpha[i]
        # release the sum of alpha-hat_j over the set bits j of t
        return sum(self.alpha_hat[j] for j in binary_expansion(self.time))

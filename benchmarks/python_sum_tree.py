"""The sum tree that most replay code uses: plain Python lists and loops. The peer of common/replay/sum_tree.py."""

from collections.abc import Iterable


class PythonSumTree:
    """Node 1 is the root, the children of node i are 2i and 2i + 1, item i is leaf ``width + i``."""

    def __init__(self, priorities: Iterable[float]):
        leaves = list(priorities)
        self.width = 1 << max(0, len(leaves) - 1).bit_length()
        self.nodes = [0.0] * self.width + leaves + [0.0] * (self.width - len(leaves))
        for node in range(self.width - 1, 0, -1):
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1]

    @property
    def total(self) -> float:
        return self.nodes[1]

    def set(self, index: int, priority: float) -> None:
        node = self.width + index
        self.nodes[node] = priority
        node //= 2
        while node >= 1:
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1]
            node //= 2

    def find(self, prefix_sum: float) -> int:
        """The item whose slice of the cumulative priorities contains ``prefix_sum``, which is in [0, total)."""
        node = 1
        while node < self.width:
            node *= 2
            if prefix_sum >= self.nodes[node]:
                prefix_sum -= self.nodes[node]
                node += 1
        return node - self.width

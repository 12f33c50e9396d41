"""The sum tree against cumulative sums over a plain list."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.replay.sum_tree import SumTree, _draw_distinct

# Whole-number priorities keep every sum of the twin exact, so that both must agree to the last bit.
whole = st.lists(st.integers(0, 9), min_size=1, max_size=40)


def tree_of(priorities) -> SumTree:
    tree = SumTree(len(priorities))
    tree.set_many(np.arange(len(priorities)), priorities)
    return tree


def plain_find(priorities, prefix: float) -> int:
    for index, priority in enumerate(priorities):
        if prefix < priority:
            return index
        prefix -= priority
    raise AssertionError("prefix sum beyond the total")


def plain_draw_distinct(priorities, n: int, rng: np.random.Generator) -> list[int]:
    uniforms, left, drawn = rng.random(2 * n), list(priorities), []
    for u in uniforms[:n]:
        index = plain_find(priorities, u * sum(priorities))
        if index not in drawn:
            drawn.append(index)
            left[index] = 0
    while len(drawn) < n:
        drawn.append(plain_find(left, uniforms[n + len(drawn)] * sum(left)))
        left[drawn[-1]] = 0
    return drawn


@settings(deadline=None)
@given(capacity=st.integers(1, 40), data=st.data())
def test_sums_after_any_updates(capacity, data):
    tree, twin = SumTree(capacity), [0.0] * capacity
    pair = st.tuples(st.integers(0, capacity - 1), st.floats(0, 1e6))
    for batch in data.draw(st.lists(st.lists(pair, max_size=5), max_size=10)):
        for index, priority in batch:
            twin[index] = priority
        if len(batch) == 1:
            tree.set(*batch[0])
        else:
            tree.set_many([index for index, _ in batch], [priority for _, priority in batch])
    assert tree[:].tolist() == twin
    assert tree.total == pytest.approx(sum(twin), rel=1e-12)
    assert len(tree) == capacity


@settings(deadline=None)
@given(priorities=whole.filter(any), uniforms=st.lists(st.floats(0, 1, exclude_max=True), max_size=20))
def test_find_equals_the_plain_search(priorities, uniforms):
    prefix_sums = np.array(uniforms) * sum(priorities)
    found = tree_of(priorities).find(prefix_sums)
    assert found.tolist() == [plain_find(priorities, prefix) for prefix in prefix_sums]


@settings(deadline=None)
@given(priorities=whole.filter(any), data=st.data(), seed=st.integers(0, 2**32))
@example(priorities=[1] * 40, data=None, seed=0)
def test_draws_without_replacement_equal_the_plain_ones(priorities, data, seed):
    positive = int(np.count_nonzero(priorities))
    n = data.draw(st.integers(0, positive)) if data else positive
    tree = tree_of(priorities)
    nodes = tree._nodes.copy()
    found = tree.draw_distinct(n, np.random.default_rng(seed))
    assert found.tolist() == plain_draw_distinct(priorities, n, np.random.default_rng(seed))
    assert len(set(found.tolist())) == n
    np.testing.assert_array_equal(tree._nodes, nodes)


@settings(deadline=None)
@given(
    priorities=st.lists(st.just(0.0) | st.floats(1e-300, 1e300), min_size=1, max_size=20).filter(any),
    seed=st.integers(0, 2**32),
)
def test_an_item_of_priority_zero_is_never_drawn(priorities, seed):
    """Also where rounding carries a prefix sum to the end of the last slice or beyond."""
    tree = tree_of(priorities)
    total = tree.total
    found = tree.find([0.0, total / 3, np.nextafter(total, 0), total, np.nextafter(total, np.inf)])
    assert (tree[found] > 0).all()
    positive = np.flatnonzero(priorities)
    drawn = tree.draw_distinct(len(positive), np.random.default_rng(seed))
    assert sorted(drawn.tolist()) == positive.tolist()


def test_repeats_are_drawn_again_by_the_same_rules():
    """With chosen numbers instead of random ones: the first half always hits item 0, the second half the borders."""
    tree = tree_of([4, 1, 1, 0])
    assert _draw_distinct(tree._nodes, tree._width, np.array([0, 0, 0, 0.5])).tolist() == [0, 2]
    tree = tree_of([4, 5e-324, 0, 0])  # the largest number below 1 times the smallest float rounds to that float
    assert _draw_distinct(tree._nodes, tree._width, np.array([0, 0, 0, np.nextafter(1, 0)])).tolist() == [0, 1]


def test_a_million_updates_leave_no_drift():
    rng, capacity = np.random.default_rng(0), 10_007
    tree = SumTree(capacity)
    for _ in range(1000):
        tree.set_many(rng.integers(capacity, size=1000), 10.0 ** rng.uniform(-9, 9, size=1000))
    fresh = tree_of(tree[:])
    np.testing.assert_allclose(tree._nodes, fresh._nodes, rtol=1e-9)
    tree.set_many(np.arange(capacity), np.zeros(capacity))
    assert tree.total == 0.0


@pytest.mark.parametrize("index", [-1, 5, 7, 2**40])
def test_an_index_outside_is_refused(index):
    tree = tree_of([1, 2, 3, 4, 5])
    with pytest.raises(IndexError):
        tree.set(index, 1.0)
    with pytest.raises(IndexError):
        tree.set_many([0, index], [9.0, 9.0])
    assert tree[:].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("priority", [-1.0, np.nan, np.inf])
def test_a_wrong_priority_is_refused(priority):
    tree = tree_of([1, 2, 3])
    with pytest.raises(ValueError, match="finite and not negative"):
        tree.set(0, priority)
    with pytest.raises(ValueError, match="finite and not negative"):
        tree.set_many([0, 1], [9.0, priority])
    assert tree[:].tolist() == [1, 2, 3]
    assert tree.total == 6


def test_fewer_are_drawn_where_fewer_have_a_priority():
    tree = tree_of([1, 0, 3, 0])
    assert sorted(tree.draw_distinct(3, np.random.default_rng(0)).tolist()) == [0, 2]
    assert tree[:].tolist() == [1, 0, 3, 0]
    assert tree.total == 4
    assert SumTree(4).draw_distinct(1, np.random.default_rng(0)).tolist() == []


def test_the_largest_of_new_priorities_is_told():
    assert SumTree(3).set_many([0, 1, 0], [2.0, 5.0, 1.0]) == 5.0
    assert SumTree(3).set_many([], []) == 0.0


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="all priorities are zero"):
        SumTree(4).find([0.0])
    with pytest.raises(ValueError, match="at least 1"):
        SumTree(0)
    with pytest.raises(ValueError, match="as many priorities as indices"):
        SumTree(3).set_many([0, 1], [1.0])


@pytest.mark.parametrize("capacity", [1, 2, 5, 8, 1000])
@pytest.mark.parametrize("filled", [0, 1, 1000])
def test_a_pickle_restores_every_node(capacity, filled):
    tree = SumTree(capacity)
    n = min(capacity, filled)
    tree.set_many(np.arange(n), np.random.default_rng(0).random(n))
    copy = pickle.loads(pickle.dumps(tree))
    np.testing.assert_array_equal(copy._nodes, tree._nodes)
    assert len(copy) == capacity


def test_a_pickle_holds_only_the_filled_part():
    tree = SumTree(1_000_000)
    tree.set(3, 1.0)
    assert len(pickle.dumps(tree)) < 1000

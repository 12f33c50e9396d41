"""Numbers of states, against a dictionary, and the vertices made of them."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.ter.replay import states
from papers.ter.replay.graph import RandomProjection
from papers.ter.replay.states import StateTable, Vertices, table_bytes


@settings(deadline=None)
@given(seen=st.lists(st.tuples(*[st.integers(0, 2)] * 4), max_size=60), fresh=st.sampled_from([1, 2, 1024]))
def test_numbers_against_a_dictionary(seen, fresh):
    """Also of a table that has to grow at once, and of one that is unpickled half-way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "FEWEST", fresh)
        table, twin = StateTable((2, 2)), {}
        for k, codes in enumerate(seen):
            assert table.see(np.array(codes, np.uint8).reshape(2, 2)) == twin.setdefault(codes, len(twin))
            if k == 30:
                table = pickle.loads(pickle.dumps(table))
        assert len(table) == len(twin)
        assert table[np.arange(len(twin))].reshape(-1, 4).tolist() == [list(codes) for codes in twin]
        assert [tuple(table[state].flat) for state in range(len(twin))] == list(twin)


def test_states_of_one_hash_are_told_apart():
    """All that are stored here fall into one place of the table: only a comparison tells which is which."""
    codes = np.random.default_rng(0).integers(0, 11, (200_000, 9), np.uint8)
    same = codes[[int(states._hash(state)) % 2048 == 77 for state in codes]]
    assert len(same) > 60
    table = StateTable((3, 3))
    assert [table.see(state) for state in same] == list(range(len(same)))
    assert [table.see(state) for state in same[::-1]] == list(range(len(same)))[::-1]
    np.testing.assert_array_equal(table[np.arange(len(same))].reshape(-1, 9), same)


def test_layout_of_the_codes_does_not_matter():
    table, codes = StateTable((2, 3)), np.arange(6, dtype=np.uint8).reshape(2, 3)
    assert table.see(codes) == 0 == table.see(np.asfortranarray(codes)) == table.see(codes.astype(int))
    codes[0, 0] = 9  # what was seen is a copy
    assert table.see(codes) == 1 and table[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert table[np.array([[1, 0]])].shape == (1, 2, 2, 3)
    with pytest.raises(ValueError, match="as many codes"):
        table.see(np.zeros((2, 2), np.uint8))
    with pytest.raises(IndexError):
        table[np.array([2])]


def test_a_table_that_outgrows_the_memory_says_so(monkeypatch):
    table = StateTable((2, 2))
    codes = np.arange(1024, dtype=np.uint32)
    monkeypatch.setattr(states, "available_memory", lambda: table_bytes(1024, 4) - 1)
    with pytest.raises(MemoryError, match=r"^1,024 distinct states have been seen.*fewer steps[^\n]*$"):
        for code in codes:
            table.see(np.array([code]).view(np.uint8))


def test_a_pickle_holds_no_slack():
    table = StateTable((10, 10))
    for code in range(10):
        table.see(np.full((10, 10), code, np.uint8))
    assert len(pickle.dumps(table)) < 10 * 100 + 400


class Projection(RandomProjection):
    """Counts its calls, and forgets all but the first code."""

    def __init__(self):
        self.matrix, self.decimals, self.calls = np.array([[1.0, 0.0, 0.0]]), 6, 0

    def __call__(self, state):
        self.calls += 1
        return super().__call__(state)


def test_a_vertex_is_asked_for_once_and_shared_by_states_of_one_projection():
    table, projection = StateTable((3,)), Projection()
    vertices = Vertices(projection, table)
    codes = np.array([[5, 0, 0], [5, 1, 0], [7, 0, 0], [5, 0, 2], [0, 0, 0]], np.uint8)
    numbers = [table.see(state) for state in codes]
    assert [vertices(state) for state in numbers] == [0, 0, 1, 0, 2]
    table, vertices = pickle.loads(pickle.dumps((table, vertices)))
    assert vertices.states is table
    assert [vertices(state) for state in reversed(numbers)] == [2, 0, 1, 0, 0]
    assert vertices.projection.calls == 5
    assert vertices(table.see(np.array([7, 7, 7], np.uint8))) == 1


def test_vertices_are_those_of_the_projection():
    rng = np.random.default_rng(0)
    table, projection = StateTable((4, 4)), RandomProjection(3, 16, rng)
    vertices, twin = Vertices(projection, table), {}
    for codes in rng.integers(0, 2, (300, 4, 4)).astype(np.uint8):
        assert vertices(codes) == vertices(table.see(codes)) == twin.setdefault(projection(codes), len(twin))

"""The memory against plain Python: returns by recursion in float64, the ring against a list of episodes."""

import pickle
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

from lab.run.errors import UserError
from papers.ref_er.memory.episode import CUT, TERMINATED, Episode
from papers.ref_er.memory.memory import EPSILON, EpisodeMemory

GAMMA = 0.9
N_STATES, N_ACTIONS = 3, 2


def make(capacity: int = 20, longest: int = 10) -> EpisodeMemory:
    return EpisodeMemory(capacity, N_STATES, N_ACTIONS, longest, GAMMA)


def episode(length: int, terminated: bool = False, seed: int = 0) -> Episode:
    """Random numbers in float32, the precision of the memory."""
    rng = np.random.default_rng(seed)

    def rows(n: int, width: int) -> list[np.ndarray]:
        return list(rng.normal(size=(n, width)).astype(np.float32))

    values = rng.normal(size=length + 1).astype(np.float32).tolist()
    return Episode(
        rows(length + 1, N_STATES), rows(length, N_ACTIONS), rows(length, N_ACTIONS),
        [np.abs(row) + np.float32(0.1) for row in rows(length, N_ACTIONS)],
        rng.normal(size=length).astype(np.float32).tolist(), values, terminated,
    )  # fmt: skip


def refresh(memory: EpisodeMemory, slots: np.ndarray, seed: int) -> None:
    """What a learner would find at these steps, near and far ones; it has an advantage."""
    rng = np.random.default_rng(seed)
    n = len(slots)
    memory.store(slots, rng.normal(size=n), np.exp(rng.normal(0, 2, n)), rng.exponential(size=n))
    memory.advantages[slots] = rng.normal(size=n)


def twin(memory: EpisodeMemory, slots: np.ndarray, last_value: float) -> list[float]:
    """Qret of an episode by Eqs. (6) and (7) in float64, from what is stored at its steps; last_value: V(s_T)."""
    tbc, expected = float(last_value), []
    for slot in reversed(slots.tolist()):
        q_ret = float(memory.rewards[slot]) * memory.reward_scale + GAMMA * tbc
        value, advantage = float(memory.values[slot]), float(memory.advantages[slot])
        tbc = value + min(1.0, float(memory.rho[slot])) * (q_ret - (value + advantage))
        expected.append(q_ret)
    return expected[::-1]


def close(found, expected) -> None:
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def snapshot(memory: EpisodeMemory) -> dict[str, np.ndarray]:
    return {name: value.copy() for name, value in vars(memory).items() if isinstance(value, np.ndarray)}


# --- storing an episode ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("terminated", [True, False])
def test_what_is_stored(terminated):
    memory, one = make(), episode(4, terminated)
    slots, total = memory.add(one)
    assert len(one) == len(slots) == memory.n == 4 and total == pytest.approx(sum(one.rewards))
    np.testing.assert_array_equal(memory.states[slots], one.states[:-1])
    np.testing.assert_array_equal(memory.states[memory.after(slots)], one.states[1:])
    for stored, given_ in ((memory.actions, one.actions), (memory.means, one.means), (memory.stds, one.stds)):
        np.testing.assert_array_equal(stored[slots], given_)
    np.testing.assert_array_equal(memory.rewards[slots], np.float32(one.rewards))
    np.testing.assert_array_equal(memory.values[slots], np.float32(one.values[:-1]))
    np.testing.assert_array_equal(memory.rho[slots], 1)
    assert not memory.kl[slots].any() and not memory.advantages[slots].any()
    assert memory.steps[slots].tolist() == [0, 1, 2, 3] and memory.steps[memory.after(slots)[-1]] == -1
    assert memory.ends[slots].tolist() == [0, 0, 0, TERMINATED if terminated else CUT]


def test_bad_sizes():
    for sizes in ((0, 5), (5, 0), (-1, 5)):
        with pytest.raises(UserError, match="at least one step"):
            make(*sizes)


# --- returns ---------------------------------------------------------------------------------------------------------
@given(st.integers(0, 10**6), st.integers(1, 10), st.booleans(), st.floats(0.1, 10))
@settings(deadline=None)
def test_returns_against_the_recursion(seed, length, terminated, scale):
    memory, one = make(), episode(length, terminated, seed)
    memory.reward_scale = scale
    slots, _ = memory.add(one)
    last = 0.0 if terminated else one.values[-1]
    close(memory.returns[slots], twin(memory, slots, last))
    refresh(memory, slots, seed)
    memory.correct_all()
    close(memory.returns[slots], twin(memory, slots, last))


def filled() -> tuple[EpisodeMemory, list[np.ndarray], list[float]]:
    """Four episodes in a ring that has gone round, their slots and the values of their last states."""
    memory, kept = make(), deque()
    for k in range(11):
        one = episode(5 + (k - 1) % 4 if k else 3, k % 2 == 0, k)
        kept.append((memory.add(one)[0], 0.0 if one.terminated else one.values[-1]))
        gone = memory.forget()
        while len(kept) and np.isin(kept[0][0], gone).all():
            kept.popleft()
    assert any(slots[0] > slots[-1] for slots, _ in kept), "no episode lies across the ring's end"
    return memory, [slots for slots, _ in kept], [value for _, value in kept]


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(deadline=None)
def test_correcting_what_was_drawn_corrects_all_before(seed, n):
    """Everything before an episode's latest drawn step is as if computed anew, all else stays to the last bit."""
    memory, episodes, lasts = filled()
    drawn = memory.sample(n, np.random.default_rng(seed))
    refresh(memory, drawn, seed)
    before = memory.returns.copy()
    memory.correct(drawn)
    untouched = np.ones(len(before), bool)
    for slots, last in zip(episodes, lasts):
        close(memory.returns[slots], twin(memory, slots, last))
        among = np.flatnonzero(np.isin(slots, drawn))
        if len(among):
            untouched[slots[: among[-1]]] = False
    np.testing.assert_array_equal(memory.returns[untouched], before[untouched])


def test_correcting_starts_from_the_latest_drawn_step():
    """Its own stored Qret is where the recursion starts; nothing later is asked for."""
    memory = make()
    slots, _ = memory.add(episode(8, seed=3))
    other, _ = memory.add(episode(6, seed=4))
    kept = memory.returns[other].copy()
    memory.returns[slots[5:]] = [50.0, 777.0, 777.0]
    memory.correct(slots[[2, 5, 0, 5]])
    assert memory.returns[slots[5:]].tolist() == [50, 777, 777]
    expected = 50.0
    for t in reversed(range(5)):  # rho is 1 and there is no advantage
        expected = float(memory.rewards[slots[t]]) + GAMMA * expected
        close(memory.returns[slots[t]], expected)
    np.testing.assert_array_equal(memory.returns[other], kept)
    memory.returns[slots[1:]] = 777.0
    memory.correct(slots[[1]])  # forgets what was drawn before
    close(memory.returns[slots[0]], memory.rewards[slots[0]] + GAMMA * 777)
    assert (memory.returns[slots[1:]] == 777).all()


def test_a_new_value_at_the_time_limit():
    """Counts for the last step at once, and for those before it once they are corrected."""
    memory, episodes, lasts = filled()
    memory.reward_scale = 2.0
    memory.correct_all()
    cut = [k for k, slots in enumerate(episodes) if memory.ends[slots[-1]] == CUT]
    assert 1 < len(cut) < len(episodes)
    drawn = np.array([episodes[k][-1] for k in cut])
    before, new = memory.returns.copy(), np.arange(3.0, 3.0 + len(cut))
    memory.renew_end(drawn, new.astype(np.float32))
    close(memory.returns[drawn], 2 * memory.rewards[drawn] + GAMMA * new)
    unchanged = ~np.isin(np.arange(len(before)), np.append(drawn, memory.after(drawn)))
    np.testing.assert_array_equal(memory.returns[unchanged], before[unchanged])
    memory.correct(drawn)
    for k, value in zip(cut, new):
        lasts[k] = value
    for slots, last in zip(episodes, lasts):
        close(memory.returns[slots], twin(memory, slots, last))
    memory.correct_all()
    for slots, last in zip(episodes, lasts):
        close(memory.returns[slots], twin(memory, slots, last))


def test_targets_of_q_learning():
    memory = make()
    ends, _ = memory.add(episode(2, terminated=True, seed=1))
    cut, _ = memory.add(episode(2, terminated=False, seed=2))
    memory.reward_scale = 3.0
    slots, r = np.concatenate([ends, cut]), memory.rewards
    found = memory.td_targets(slots, np.array([10.0, 20.0, 30.0, 40.0], np.float32))
    assert found.dtype == np.float32
    close(found, [3 * r[slots[0]] + 9, 3 * r[slots[1]], 3 * r[slots[2]] + 27, 3 * r[slots[3]] + 36])


# --- episodes come and go --------------------------------------------------------------------------------------------
def test_the_oldest_leaves_when_the_others_fill_the_memory():
    memory = make(capacity=10, longest=6)
    first, _ = memory.add(episode(4))
    second, _ = memory.add(episode(6, seed=1))
    memory.add(episode(3, seed=2))
    assert len(memory.forget()) == 0 and memory.n == 13, "9 steps would be left"
    memory.add(episode(1, seed=3))
    np.testing.assert_array_equal(memory.forget(), first)
    assert memory.n == 10 and len(memory.forget()) == 0
    memory.add(episode(6, seed=4))
    np.testing.assert_array_equal(memory.forget(), second)
    assert memory.n == 10
    assert len(make().forget()) == 0, "nothing to forget"


def test_forgotten_steps_leave_no_trace():
    memory = make(capacity=3, longest=5)
    old, _ = memory.add(episode(5))
    memory.store(old, np.ones(5), np.full(5, 100.0), np.full(5, 7.0))
    memory.advantages[old] = 1.0
    assert memory.count_far(2.0) == 5 and memory.mean_kl() == pytest.approx(7.0)
    memory.add(episode(4, seed=1))
    memory.forget()
    assert memory.n == 4 and memory.count_far(2.0) == 0 and memory.mean_kl() == 0.0
    assert not np.isin(old, memory.sample(4, np.random.default_rng(0))).any()
    for k in range(4):  # new episodes in the same slots
        slots, _ = memory.add(episode(5, seed=k))
        while len(memory.forget()):
            pass
        close(memory.returns[slots], twin(memory, slots, memory.values[memory.after(slots)[-1]]))
        assert not memory.advantages[slots].any() and (memory.rho[slots] == 1).all()
    assert memory.count_far(2.0) == 0


def test_the_ring_has_room_for_the_worst_case():
    """An old episode as long as can be that must stay, one-step episodes, and a new long one: all slots are taken."""
    capacity, longest = 7, 5
    memory = make(capacity, longest)
    episodes = [episode(n, seed=k) for k, n in enumerate([longest, *[1] * (capacity - 1), longest])]
    slots = []
    for one in episodes:
        assert len(memory.forget()) == 0
        slots.append(memory.add(one)[0])
    stored = np.concatenate(slots + [memory.after(s[-1:]) for s in slots])
    assert sorted(stored) == list(range(len(memory.rho)))
    for one, s in zip(episodes, slots):
        np.testing.assert_array_equal(memory.states[np.append(s, memory.after(s[-1:]))], one.states)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 4)),
        st.tuples(st.just("forget"), st.just(0)),
        st.tuples(st.just("store"), st.integers(1, 8)),
    ),
    max_size=40,
)


@given(operations, st.integers(1, 6), st.integers(0, 1000))
@settings(deadline=None)
def test_memory_against_a_list_of_episodes(steps, capacity, seed):
    """Contents, sizes, the count of far steps and the mean divergence after any sequence, in a ring that wraps."""
    memory, model, c_max = make(capacity, longest=4), deque(), 2.5
    rng, reached = np.random.default_rng(seed), False

    def forget() -> None:
        expected = [np.empty(0, np.int64)]
        while model and sum(len(row["slots"]) for row in model) - len(model[0]["slots"]) >= capacity:
            expected.append(model.popleft()["slots"])
        np.testing.assert_array_equal(memory.forget(), np.concatenate(expected))

    for k, (kind, n) in enumerate(steps):
        if kind == "add":
            forget()
            one = episode(n, bool(rng.integers(2)), seed=k)
            slots, _ = memory.add(one)
            model.append(dict(slots=slots, episode=one, rho=np.ones(n, np.float32), kl=np.zeros(n, np.float32)))
        elif kind == "forget":
            forget()
        elif memory.n:
            drawn = memory.sample(min(n, memory.n), rng)
            rho, kl = np.exp(rng.normal(0, 1.5, len(drawn))), rng.exponential(size=len(drawn))
            memory.store(drawn, np.zeros(len(drawn)), rho, kl)
            for row in model:
                for slot, new_rho, new_kl in zip(drawn, rho, kl):
                    row["rho"][row["slots"] == slot], row["kl"][row["slots"] == slot] = new_rho, new_kl
        reached = reached or memory.n >= capacity
        assert len(memory) == len(model) and memory.n == sum(len(row["slots"]) for row in model)
        assert memory.n >= capacity or not reached
        everything = np.concatenate([row["rho"] for row in model] or [np.empty(0)])
        assert memory.count_far(c_max) == sum(not 1 / c_max < rho < c_max for rho in everything.tolist())
        kls = np.concatenate([row["kl"] for row in model] or [np.zeros(1)])
        assert memory.mean_kl() == pytest.approx(kls.mean(), rel=1e-6)
    for row in model:
        np.testing.assert_array_equal(memory.states[row["slots"]], row["episode"].states[:-1])
        np.testing.assert_array_equal(memory.states[memory.after(row["slots"])], row["episode"].states[1:])
    if memory.n:
        drawn = memory.sample(memory.n, rng)
        assert sorted(drawn) == sorted(np.concatenate([row["slots"] for row in model]))


# --- drawing ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 7])
def test_all_steps_are_equally_probable(n):
    """However long their episode is and wherever in it they lie. Without replacement the counts vary less than a
    multinomial's, by the factor (1 - n / N) N / (N - 1)."""
    memory, episodes, _ = filled()
    rng, draws = np.random.default_rng(0), 6000
    drawn = np.sort([memory.sample(n, rng) for _ in range(draws)], axis=1)
    assert drawn.dtype == np.int64 and (np.diff(drawn, axis=1) > 0).all(), "different ones"
    counts = np.bincount(drawn.ravel(), minlength=len(memory.rho))
    counts = counts[np.concatenate(episodes)]
    expected = draws * n / memory.n
    assert counts.sum() == draws * n and expected > 50
    statistic = ((counts - expected) ** 2 / expected).sum() / ((1 - n / memory.n) * memory.n / (memory.n - 1))
    assert chi2.sf(statistic, memory.n - 1) > 0.01
    if n == 1:
        assert chisquare(counts).pvalue > 0.01


def test_more_than_there_is_cannot_be_drawn():
    memory = make()
    with pytest.raises(ValueError, match="cannot draw 1 different steps of 0"):
        memory.sample(1, np.random.default_rng(0))
    memory.add(episode(4))
    with pytest.raises(ValueError, match="cannot draw 5 different steps of 4"):
        memory.sample(5, np.random.default_rng(0))
    assert len(memory.sample(4, np.random.default_rng(0))) == 4


# --- units of states and rewards -------------------------------------------------------------------------------------
def test_states_are_standardised():
    """By mean and deviation of all stored states, last ones included, forgotten ones not (Eqs. 14 and 15)."""
    memory, episodes, _ = filled()
    occupied = np.concatenate([np.append(slots, memory.after(slots[-1:])) for slots in episodes])
    memory.states[occupied] = memory.states[occupied] * [1, 100, 0.01] + [5, -300, 0]
    raw = memory.states[occupied].astype(np.float64)
    np.testing.assert_array_equal(memory.scale(raw), raw.astype(np.float32))  # not yet
    memory.standardise()
    mean, std = raw.mean(axis=0), np.sqrt(np.square(raw - raw.mean(axis=0)).mean(axis=0))
    np.testing.assert_allclose(memory.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(memory.states[occupied], (raw - mean) / (std + 1e-7), rtol=1e-4, atol=1e-4)
    found = memory.scale(np.array([[5.0, -300.0, 0.0], [7.0, 0.0, 1.0]]))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ([[5, -300, 0], [7, 0, 1]] - mean) / (std + 1e-7), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1234.5])
def test_a_component_that_never_changes_is_only_centred(constant):
    memory = make()
    one = episode(5)
    for state in one.states:
        state[1] = constant
    memory.add(one)
    memory.standardise()
    np.testing.assert_allclose(memory.states[:6, 1], 0, atol=1e-4)
    assert memory.inverse_std[1] == pytest.approx(1) and memory.inverse_std[0] != pytest.approx(1)
    found = memory.scale(np.array([0, constant + 2, 0]))
    assert found[1] == pytest.approx(2, abs=1e-3), "one that changes later is not blown up"


def test_rewards_are_scaled_and_all_returns_with_them():
    """By their root mean square, not centred, over the steps in the memory (Eq. 16)."""
    memory, episodes, lasts = filled()
    for slots in episodes:
        refresh(memory, slots, int(slots[0]))
    stored = memory.rewards.copy()
    memory.rescale_rewards()
    r = np.concatenate([stored[slots] for slots in episodes]).astype(np.float64)
    assert memory.reward_scale == pytest.approx(1 / (np.sqrt(np.mean(r**2)) + 1e-7), rel=1e-12)
    assert abs(memory.reward_scale * r.std() - 1) > 1e-4, "the test could not tell it from a deviation"
    np.testing.assert_array_equal(memory.rewards, stored)  # scaled where they are used
    for slots, last in zip(episodes, lasts):
        close(memory.returns[slots], twin(memory, slots, last))
    one = episode(6, seed=77)
    slots, total = memory.add(one)  # from now on in the new units, but for the return that is reported
    close(memory.returns[slots], twin(memory, slots, one.values[-1]))
    assert total == pytest.approx(sum(one.rewards))
    memory.rewards[slots] *= 10
    memory.rescale_rewards()  # replaces the scale
    r = np.append(r, 10 * np.float32(one.rewards).astype(np.float64))
    assert memory.reward_scale == pytest.approx(1 / np.sqrt(np.mean(r**2)), rel=1e-5)


def test_a_task_that_pays_nothing_keeps_its_units():
    memory = make()
    one = episode(4)
    one.rewards = [0.0] * 4
    slots, _ = memory.add(one)
    memory.rescale_rewards()
    assert memory.reward_scale == 1.0
    close(memory.returns[slots], [GAMMA ** (4 - t) * one.values[-1] for t in range(4)])
    assert EPSILON == 1e-7


# --- room ----------------------------------------------------------------------------------------------------------
def test_free_slots_are_not_pickled():
    memory = make(capacity=100_000, longest=1000)
    memory.add(episode(1000))
    assert len(pickle.dumps(memory)) < 100 * 1001


def test_a_full_memory_refuses_an_episode_and_stays_as_it_is():
    memory = make(capacity=10, longest=5)  # 30 slots
    for seed in range(5):
        memory.add(episode(5, seed=seed))
    before, n = snapshot(memory), memory.n
    with pytest.raises(ValueError, match="no room for 5 steps: 25 are stored, where 10 would do"):
        memory.add(episode(5))
    assert memory.n == n == 25
    for name, array in snapshot(memory).items():
        np.testing.assert_array_equal(array, before[name])
    memory.forget()
    memory.add(episode(5))
    assert memory.n == 15


@pytest.mark.parametrize(("name", "entries"), [("states", 1), ("states", 3), ("values", 1), ("means", 2), ("stds", 1)])
def test_an_episode_that_lacks_something_is_refused_and_nothing_changes(name, entries):
    """One whose last state was never seen, say, because its collector started anew."""
    memory = make()
    memory.add(episode(4))
    before, cut = snapshot(memory), episode(3)
    setattr(cut, name, getattr(cut, name)[:entries])
    for wrong, length in ((cut, 3), (Episode(), 0)):
        with pytest.raises(ValueError, match=f"^an episode of {length} steps needs {length + 1} states"):
            memory.add(wrong)
    assert len(memory) == 1 and memory.n == 4
    for key, array in snapshot(memory).items():
        np.testing.assert_array_equal(array, before[key])

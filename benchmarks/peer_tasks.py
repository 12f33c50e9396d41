"""The fastest peers, in the process of `benchmarks.fast_peers`: each function makes a task that returns microseconds.

Orders come as lines of JSON: {"make": function, "arguments": {...}, "package": name} is answered by {"task": number,
"version": text} or, if the peer cannot be had, {"error": text}; {"run": number} by {"us": microseconds per unit}.

The libraries are imported by the functions, as each may be missing.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from pydoc import locate
from time import process_time as clock
from typing import Any

import numpy as np

from benchmarks.timing import per_call

Task = Callable[[], float]
OBSERVATION, ACTION = 11, 3  # of Hopper, in memories


# ---- SBX: Stable-Baselines3's algorithms in JAX ----------------------------------------------------------------------


def sbx(
    algorithm: str, make_env: str, env: str, settings: dict[str, Any], steps: int, *, n_envs: int = 0, stored: int = 0,
    activation: str = "relu", noise: float = 0.0, policy: str = "MlpPolicy",
) -> Task:  # fmt: skip
    """Microseconds per environment step of `learn(steps)`.

    algorithm: "SAC" and the like; make_env: dotted name of a function of our house, which makes `env`; n_envs: copies
    of it side by side, 0 for one alone; settings: arguments of the algorithm, as in Stable-Baselines3, classes by their
    dotted names; stored: its memory is filled to this by repeating what it holds.
    """
    import jax
    import sbx
    from flax import linen
    from stable_baselines3.common.noise import NormalActionNoise, VectorizedActionNoise
    from stable_baselines3.common.vec_env import DummyVecEnv

    make: Any = locate(make_env)
    world = DummyVecEnv([lambda: make(env)] * n_envs) if n_envs else make(env)
    arguments = {name: _named(value) for name, value in settings.items()}
    if noise:
        still = np.zeros(world.action_space.shape)
        arguments["action_noise"] = NormalActionNoise(still, still + noise)
        if n_envs:
            arguments["action_noise"] = VectorizedActionNoise(arguments["action_noise"], n_envs)
    kwargs = dict(arguments.pop("policy_kwargs", {}))
    if policy != "CnnPolicy":
        kwargs["activation_fn"] = getattr(linen, activation)
    model = getattr(sbx, algorithm)(_named(policy), world, policy_kwargs=kwargs, seed=0, **arguments)

    def learn(n: int) -> None:
        model.learn(n, reset_num_timesteps=False, log_interval=None)  # None: no log
        states = [getattr(model.policy, name, None) for name in ("actor_state", "qf_state", "vf_state")]
        jax.block_until_ready([state.params for state in states if state is not None])

    if "learning_starts" in settings:
        learn(settings["learning_starts"] + 8)  # also compiles
    if stored:
        memory = model.replay_buffer
        n = memory.pos
        for array in (memory.observations, memory.actions, memory.rewards, memory.next_observations, memory.dones):
            array[n:stored] = np.resize(array[:n], (stored - n, *array.shape[1:]))
        memory.pos = stored
    return per_call(lambda: learn(steps), 1, steps)


def _named(value: Any) -> Any:
    """The object of this dotted name, or what was given if it is none."""
    return locate(value) if isinstance(value, str) and "." in value else value


def sbx_updates(
    algorithm: str, make_env: str, env: str, width: int, batch: int, updates: int, at_once: int = 1
) -> Task:
    """Microseconds per gradient step, its batch drawn too, with two hidden layers of `width`; `at_once` in one call."""
    import jax
    import sbx

    make: Any = locate(make_env)
    model = getattr(sbx, algorithm)(
        "MlpPolicy", make(env), buffer_size=10_000, learning_starts=0, batch_size=batch, seed=0,
        policy_kwargs={"net_arch": [width, width]},
    )  # fmt: skip
    model.learn(0, log_interval=None)  # makes its logger
    memory, rng = model.replay_buffer, np.random.default_rng(0)
    for array in (memory.observations, memory.actions, memory.rewards, memory.next_observations):
        array[:] = rng.standard_normal(array.shape, np.float32)
    memory.full = True

    def learn() -> None:
        model.train(at_once, batch)
        jax.block_until_ready((model.policy.actor_state.params, model.policy.qf_state.params))

    return per_call(learn, max(1, updates // at_once), at_once)


# ---- prioritised memories: draw a batch, gather it, set its priorities -----------------------------------------------


def cpprb_per(size: int, batch: int, calls: int) -> Task:
    from cpprb import PrioritizedReplayBuffer

    fields = {"obs": OBSERVATION, "act": ACTION, "rew": 1, "next_obs": OBSERVATION, "done": 1}
    memory = PrioritizedReplayBuffer(size, {name: {"shape": n} for name, n in fields.items()}, alpha=0.6)
    rng = np.random.default_rng(0)
    step = 10_000
    for begin in range(0, size, step):
        n = min(step, size - begin)
        values = {name: rng.standard_normal((n, width), np.float32) for name, width in fields.items()}
        memory.add(**values, priorities=rng.uniform(0.05, 1.0, n))
    new = rng.uniform(0.05, 1.0, batch)

    def call() -> None:
        drawn = memory.sample(batch, beta=0.4)
        memory.update_priorities(drawn["indexes"], new)

    return per_call(call, calls)


def rlox_per(size: int, batch: int, calls: int) -> Task:
    from rlox import PrioritizedReplayBuffer

    memory = PrioritizedReplayBuffer(size, OBSERVATION, ACTION, 0.6, 0.4)
    rng = np.random.default_rng(0)
    observation, action = rng.standard_normal(OBSERVATION, np.float32), rng.standard_normal(ACTION, np.float32)
    for priority in rng.uniform(0.05, 1.0, size).tolist():
        memory.push(observation, action, 0.0, False, False, observation, priority)
    new, seeds = rng.uniform(0.05, 1.0, batch), iter(range(10**9))

    def call() -> None:
        drawn = memory.sample(batch, next(seeds))
        memory.update_priorities(drawn["indices"], new)

    return per_call(call, calls)


def flashbax_per(size: int, batch: int, calls: int) -> Task:
    import flashbax
    import jax
    import jax.numpy as jnp

    memory = flashbax.make_prioritised_flat_buffer(size, 1, batch, add_sequences=True, priority_exponent=0.6)
    one = {"obs": jnp.zeros(OBSERVATION), "act": jnp.zeros(ACTION), "rew": jnp.zeros(()), "done": jnp.zeros((), bool)}
    state = memory.init(one)
    rng, n = np.random.default_rng(0), size // 10
    add = jax.jit(memory.add, donate_argnums=0)
    for _ in range(10):
        state = add(state, jax.tree.map(lambda x: jnp.zeros((n, *x.shape), x.dtype), one))
    new = jnp.asarray(rng.uniform(0.05, 1.0, batch), jnp.float32)

    def draw(state: Any, key: Any) -> Any:
        key, now = jax.random.split(key)
        drawn = memory.sample(state, now)
        return memory.set_priorities(state, drawn.indices, new), key, drawn.experience

    compiled, key = jax.jit(draw, donate_argnums=0), jax.random.key(0)

    def call() -> None:
        nonlocal state, key
        state, key, drawn = compiled(state, key)
        jax.block_until_ready(drawn)

    return per_call(call, calls)


# ---- environments under a random policy ------------------------------------------------------------------------------


def envpool_steps(env: str, n: int, steps: int, **settings: Any) -> Task:
    """Per step of one of n copies."""
    import envpool

    envs = envpool.make(env, env_type="gymnasium", num_envs=n, num_threads=1, seed=0, **settings)
    envs.reset()
    envs.action_space.seed(0)
    actions = [np.stack([envs.action_space.sample() for _ in range(n)]) for _ in range(101)]
    turns = max(1, steps // n)

    def task() -> float:
        begin = clock()
        for i in range(turns):
            envs.step(actions[i % len(actions)])
        return (clock() - begin) / (turns * n) * 1e6

    return task


def xminigrid_steps(env: str, n: int, steps: int) -> Task:
    import xminigrid
    from xminigrid.wrappers import GymAutoResetWrapper

    world, parameters = xminigrid.make(env)
    world = GymAutoResetWrapper(world)
    actions = world.num_actions(parameters)
    return _scan(lambda key: world.reset(parameters, key), lambda s, a: world.step(parameters, s, a), actions, n, steps)


def navix_steps(env: str, n: int, steps: int) -> Task:
    import navix

    world = navix.make(env)
    return _scan(world.reset, world.step, len(world.action_set), n, steps)


def jumanji_sokoban(n: int, steps: int) -> Task:
    """On the two 10 x 10 levels that it brings along; thousands more would have to be downloaded."""
    from jumanji.environments import Sokoban
    from jumanji.environments.routing.sokoban.generator import ToyGenerator
    from jumanji.wrappers import AutoResetWrapper

    world = AutoResetWrapper(Sokoban(generator=ToyGenerator()))
    return _scan(lambda key: world.reset(key)[0], lambda state, action: world.step(state, action)[0], 4, n, steps)


def _scan(reset: Callable, step: Callable, n_actions: int, n: int, steps: int) -> Task:
    """Random steps of n environments, all of them in one compiled loop."""
    import jax

    turns = max(1, steps // n)

    def turn(states: Any, key: Any) -> Any:
        return jax.vmap(step)(states, jax.random.randint(key, (n,), 0, n_actions)), None

    loop = jax.jit(lambda states, key: jax.lax.scan(turn, states, jax.random.split(key, turns))[0])
    states, keys = jax.vmap(reset)(jax.random.split(jax.random.key(0), n)), iter(range(10**9))

    def play() -> None:
        nonlocal states
        states = jax.block_until_ready(loop(states, jax.random.key(next(keys))))

    play()
    play()  # compiled again, as what comes out of the loop has other types than what a reset returns
    return per_call(play, 1, turns * n)


# ---- orders ----------------------------------------------------------------------------------------------------------


def make(order: dict[str, Any], tasks: list[Task]) -> dict[str, Any]:
    """Append the task that the order names to `tasks`; returns the answer."""
    try:
        version = importlib.metadata.version(order["package"]) if order["package"] else ""
        tasks.append(globals()[order["make"]](**order["arguments"]))
    except importlib.metadata.PackageNotFoundError:
        return {"error": f"{order['package']} is not installed: make peers"}
    except Exception as error:  # a peer's fault must not end the measurement of all others
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
    gc.collect()
    gc.freeze()  # no task pays for the data structures of another
    return {"task": len(tasks) - 1, "version": version}


def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # XLA starts a thread for each core that it sees
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print goes elsewhere
    tasks: list[Task] = []
    for line in sys.stdin:
        order = json.loads(line)
        answer = {"us": tasks[order["run"]]()} if "run" in order else make(order, tasks)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()

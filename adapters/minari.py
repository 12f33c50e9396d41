"""Minari data sets: write them from steps or a memory, read them into a memory and a sampler; see README.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import minari
import numpy as np
from minari.data_collector import EpisodeBuffer

from common.replay.protocol import Sampler, Step
from common.replay.storage import Ring
from common.replay.trail import FOLLOWS, Trail

NAMES = {name: name for name in ("observation", "action", "reward", "next_observation", "terminated", "truncated")}
"""Part of a step -> field of a memory that holds it."""


def write(dataset_id: str, steps: Iterable[Step], **about: Any) -> minari.MinariDataset:
    """Write steps, in the order in which they were taken, as a local data set "name-v0".

    about: `env`, an environment or its id, or `observation_space` and `action_space`; and anything else that
    `minari.create_dataset_from_buffers` takes. Steps of several environments (`env_id`) become episodes of each, in the
    order in which these begin. An episode that was abandoned or is still running ends in a step that is neither
    terminated nor truncated. Pictures are kept as they are; Minari's own default is JPEG. ValueError without steps.
    """
    found = [_buffer(steps) for steps in episodes(steps)]
    if not found:
        raise ValueError("there are no steps to write")
    return minari.create_dataset_from_buffers(dataset_id, found, **{"jpeg_encoding": False} | about)


def episodes(steps: Iterable[Step]) -> list[list[Step]]:
    """Split the steps of several environments into episodes, in the order in which these begin."""
    found: list[list[Step]] = []
    running: dict[int, list[Step]] = {}
    trail = Trail()
    for step in steps:
        if trail.add(step) != FOLLOWS:
            running[step.env_id] = []
            found.append(running[step.env_id])
        running[step.env_id].append(step)
    return found


def steps_of(memory: Ring, names: Mapping[str, str] = NAMES, env_id: str = "") -> Iterator[Step]:
    """Yield the steps in a memory, the oldest first. names: its fields; without `truncated`, no step is truncated.
    env_id: the field that says which of several environments. KeyError for a missing field."""
    first = memory.next_index if memory.full else 0
    for index in (first + np.arange(len(memory))) % memory.capacity:
        parts = {part: memory[field][index].copy() for part, field in names.items()}
        ended = {part: bool(parts.get(part, False)) for part in ("terminated", "truncated")}
        env = int(memory[env_id][index]) if env_id else 0
        yield Step(**{**parts, **ended, "reward": float(parts["reward"]), "env_id": env})


def read(dataset: minari.MinariDataset | str, sampler: Sampler | None = None) -> Iterator[Step]:
    """Yield the steps of a data set, given by itself or its name, episode by episode, all as from one environment.

    sampler: its `cut` is called after each episode, so that it does not join those without an end. Without one here,
    call `cut` yourself.
    """
    data = minari.load_dataset(dataset) if isinstance(dataset, str) else dataset
    for episode in data.iterate_episodes():
        for t in range(len(episode)):
            yield Step(
                _at(episode.observations, t), _at(episode.actions, t), float(episode.rewards[t]),
                _at(episode.observations, t + 1), bool(episode.terminations[t]), bool(episode.truncations[t]),
            )  # fmt: skip
        if sampler is not None:
            sampler.cut(0)


def fill(
    dataset: minari.MinariDataset | str,
    sampler: Sampler | None = None,
    memory: Ring | None = None,
    names: Mapping[str, str] = NAMES,
) -> int:
    """Read a data set into a memory with the fields `names`, a sampler, or both; return the number of steps.

    A sampler without a memory gets the slots 0, 1, ... ValueError, before anything is read, if the memory is too small
    for the data set: later steps would overwrite earlier ones.
    """
    data = minari.load_dataset(dataset) if isinstance(dataset, str) else dataset
    total = sum(len(episode) for episode in data.iterate_episodes())  # in a filtered one, total_steps may count all
    if memory is not None and total > memory.capacity - len(memory):
        left = memory.capacity - len(memory)
        raise ValueError(f"the data set has {total} steps, the memory room for {left}; make it larger")
    for count, step in enumerate(read(data, sampler)):
        index = count
        if memory is not None:
            index = memory.add(**{field: getattr(step, part) for part, field in names.items()})
        if sampler is not None:
            sampler.add(index, step)
    return total


def _buffer(steps: list[Step]) -> EpisodeBuffer:
    observations = [step.observation for step in steps] + [steps[-1].next_observation]
    return EpisodeBuffer(
        observations=_stacked(observations),
        actions=_stacked([step.action for step in steps]),
        rewards=[float(step.reward) for step in steps],
        terminations=[bool(step.terminated) for step in steps],
        truncations=[bool(step.truncated) for step in steps],
        infos={},
    )


def _stacked(values: list[Any]) -> Any:
    """Stack observations or actions of an episode as Minari does: an array, or a dictionary or tuple of such."""
    first = values[0]
    if isinstance(first, Mapping):
        return {name: _stacked([value[name] for value in values]) for name in first}
    if isinstance(first, tuple):
        return tuple(_stacked([value[i] for value in values]) for i in range(len(first)))
    return np.stack([np.asarray(value) for value in values])


def _at(values: Any, t: int) -> Any:
    """The inverse of `_stacked` for one step."""
    if isinstance(values, Mapping):
        return {name: _at(part, t) for name, part in values.items()}
    if isinstance(values, tuple):
        return tuple(_at(part, t) for part in values)
    return values[t]

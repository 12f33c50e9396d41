"""Experiments as data: a script, its tasks, variants, seeds and budgets at each scale.

    grid(train, ["Hand"], ["her", "none"], seeds=Scales(1, 5, 15), budget=Scales(TINY, dict(epochs=100), {}))

is an experiment: called with a scale, it returns the runs of that scale.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lab.entry import Entry


@dataclass(frozen=True)
class Scales:
    """A value for each scale. `|` merges settings: what stands right of it has the last word."""

    smoke: Any
    quick: Any
    full: Any

    def __getitem__(self, scale: str) -> Any:
        return getattr(self, scale)

    def __or__(self, more: Any) -> "Scales":
        return Scales(*(at(self, scale) | at(more, scale) for scale in self.__dataclass_fields__))


def at(value: Any, scale: str) -> Any:
    """The value at a scale; inside a dict, too."""
    value = value[scale] if isinstance(value, Scales) else value
    return {key: at(each, scale) for key, each in value.items()} if isinstance(value, dict) else value


def each(value: Any, function: Callable[[Any], Any]) -> Scales:
    """The function of the value at each scale."""
    return Scales(*(function(at(value, scale)) for scale in Scales.__dataclass_fields__))


@dataclass(frozen=True)
class Experiment:
    """Scale -> runs, in the order in which they are trained. `+` puts experiments together."""

    runs: Callable[[str], list[Entry]]

    def __call__(self, scale: str) -> list[Entry]:
        return self.runs(scale)

    def __add__(self, other: "Experiment") -> "Experiment":
        return Experiment(lambda scale: self(scale) + other(scale))

    def by(self, label: str) -> "Experiment":
        """Seed by seed ("seed"), so that a sweep that is stopped early has whole comparisons; or task by task ("env")."""

        def runs(scale: str) -> list[Entry]:
            order = list(dict.fromkeys(getattr(entry, label) for entry in self(scale)))
            return sorted(self(scale), key=lambda entry: order.index(getattr(entry, label)))

        return Experiment(runs)

    def only(self, wanted: Callable[[Entry], bool]) -> "Experiment":
        """The wanted ones of its runs."""
        return Experiment(lambda scale: [entry for entry in self(scale) if wanted(entry)])

    def full_as_quick(self) -> "Experiment":
        """At full the same runs as at quick."""
        return Experiment(lambda scale: self("quick" if scale == "full" else scale))


def grid(
    script: ModuleType,
    tasks: Scales | Sequence[str] | Mapping[str, Any],
    variants: Scales | Iterable[str] | Mapping[str, Any],
    seeds: Scales | Iterable[int] | int,
    budget: Any = None,
    *,
    config: Callable[..., Any] | None = None,
    shared: bool = True,
) -> Experiment:
    """Every variant of a script on every task with every seed.

    tasks, variants: names (settings `env` and `method`), or label in the results -> settings. seeds: or how many, from
    0 on. budget: settings of all runs; a variant's go before it, a task's before both. Each of the four, and any of the
    settings, may be a table of Scales. config: makes the settings a config; the script's Config. shared: see Entry.
    """

    def runs(scale: str) -> list[Entry]:
        envs, changes, numbers, usual = (at(value, scale) for value in (tasks, variants, seeds, budget or {}))
        envs = {label: {"env": label} | (envs[label] if isinstance(envs, dict) else {}) for label in envs}
        changes = changes if isinstance(changes, dict) else named(changes)
        return [
            Entry(
                label, env, seed, f"{script.__name__}:main",
                (config or script.Config)(**usual | change | of_env | {"seed": seed}), shared,
            )
            for env, of_env in envs.items()
            for label, change in changes.items()
            for seed in (range(numbers) if isinstance(numbers, int) else numbers)
        ]  # fmt: skip

    return Experiment(runs)


def named(methods: Iterable[str], suffix: str = "", **settings: Any) -> dict[str, Any]:
    """Variants: methods with changed settings, which `suffix` names."""
    return {method + suffix: {"method": method} | settings for method in methods}

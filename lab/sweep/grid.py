"""Experiments as data: a script, its tasks, variants, seeds and budgets at each scale.

    grid(train, "Hand", ["her", "none"], seeds=Scales(1, 5, 15), budget=Scales(TINY, dict(epochs=100)))

is an experiment: called with a scale, it returns the runs of that scale. It has runs at `long` only if each of its
tables has an entry for it; most experiments have none.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from lab.sweep.entry import Entry


@dataclass(frozen=True)
class Scales(Mapping[str, Any]):
    """Scale -> value, by default no settings; `long` is absent (...) unless given. `|` merges settings: the right side
    wins, and a scale that only one of two tables has is taken from it."""

    smoke: Any = field(default_factory=dict)
    quick: Any = field(default_factory=dict)
    full: Any = field(default_factory=dict)
    long: Any = field(default=..., kw_only=True)

    def __getitem__(self, scale: str) -> Any:
        if (value := vars(self)[scale]) is ...:
            raise KeyError(scale)
        return value

    def __iter__(self) -> Iterator[str]:
        return (scale for scale, value in vars(self).items() if value is not ...)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __or__(self, more: Any) -> "Scales":
        def merged(scale: str) -> Any:
            there = [side for side in (at(self, scale), at(more, scale)) if side is not ...]
            lacking = len(there) == 0 or (len(there) == 1 and not isinstance(more, Scales))
            return ... if lacking else there[0] | there[-1]

        return Scales(**{scale: merged(scale) for scale in vars(self)})


def at(value: Any, scale: str) -> Any:
    """Value at a scale, also inside a dict; `...` if a table lacks the scale."""
    value = value.get(scale, ...) if isinstance(value, Scales) else value
    if not isinstance(value, dict):
        return value
    found = {key: at(inside, scale) for key, inside in value.items()}
    return ... if any(inside is ... for inside in found.values()) else found


def each(value: Any, function: Callable[[Any], Any]) -> Scales:
    """Apply a function to the value at each scale."""
    found = {scale: at(value, scale) for scale in Scales.__dataclass_fields__}
    return Scales(**{scale: ... if inside is ... else function(inside) for scale, inside in found.items()})


@dataclass(frozen=True)
class Experiment:
    """Scale -> runs, in the order of training. `+` joins experiments."""

    runs: Callable[[str], list[Entry]]

    def __call__(self, scale: str) -> list[Entry]:
        return self.runs(scale)

    def __add__(self, other: "Experiment") -> "Experiment":
        return Experiment(lambda scale: self(scale) + other(scale))

    def by(self, label: str) -> "Experiment":
        """Order seed by seed ("seed"), so a sweep cut short has whole comparisons, or task by task ("env")."""

        def runs(scale: str) -> list[Entry]:
            order = list(dict.fromkeys(getattr(entry, label) for entry in self(scale)))
            return sorted(self(scale), key=lambda entry: order.index(getattr(entry, label)))

        return Experiment(runs)

    def only(self, wanted: Callable[[Entry], bool]) -> "Experiment":
        """Keep only the wanted runs."""
        return Experiment(lambda scale: [entry for entry in self(scale) if wanted(entry)])

    def full_as_quick(self) -> "Experiment":
        """Use quick's runs at full, too."""
        return Experiment(lambda scale: self("quick" if scale == "full" else scale))


def grid(
    script: ModuleType,
    tasks: Any,
    variants: Any,
    seeds: Any,
    budget: Any = None,
    *,
    config: Callable[..., Any] | None = None,
    shared: bool = True,
) -> Experiment:
    """Every variant of a script on every task with every seed.

    tasks, variants: a label in the results, several, or label -> settings. The settings `env` and `method` default to
    the first words of the labels. seeds: a list, or how many from 0. budget: settings of all runs; a task's override
    them, and a variant's override both, so that a run is what its label says. Each of the four, and any setting, may be
    a table of Scales. config: turns settings into a config; default: the script's Config. shared: see Entry.
    """
    parts = tasks, variants, seeds, budget or {}
    has_tables = any(at(part, "no scale") is ... for part in parts)

    def runs(scale: str) -> list[Entry]:
        found = [at(part, scale) for part in parts]
        if any(part is ... for part in found) or (scale == "long" and not has_tables):
            return []
        of_tasks, of_variants, numbers, usual = found
        return [
            Entry(
                label, env, seed, f"{script.__name__}:main",
                (config or script.Config)(**usual | of_env | change | {"seed": seed}), shared,
            )
            for env, of_env in _settings("env", of_tasks, script).items()
            for label, change in _settings("method", of_variants, script).items()
            for seed in (range(numbers) if isinstance(numbers, int) else numbers)
        ]  # fmt: skip

    return Experiment(runs)


def _settings(name: str, labels: Any, script: ModuleType) -> dict[str, dict[str, Any]]:
    """Label -> settings, including `name` if the script has such a setting."""
    labels = [labels] if isinstance(labels, str) else labels
    found = {label: {name: label.split()[0]} if name in script.Config.__dataclass_fields__ else {} for label in labels}
    return {label: found[label] | labels[label] for label in found} if isinstance(labels, dict) else found

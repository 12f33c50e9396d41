"""What two runs have in common, to the last digit."""

import json
from pathlib import Path
from typing import Any

import torch

MEASURED = "seconds"
"""Metrics with this in their names are no two times the same."""


def rows(run_dir: Path) -> list[tuple[str, ...]]:
    """metrics.csv without the hours, and without the values of what is measured in seconds; whole lines only."""
    try:
        text = (run_dir / "metrics.csv").read_text()
    except FileNotFoundError:
        return []
    lines = [line.split(",") for line in text[: text.rfind("\n") + 1].splitlines()[1:]]
    return [tuple(line[:2] if MEASURED in line[1] else line[:3]) for line in lines]


def evaluations(run_dir: Path) -> int:
    """Different steps in metrics.csv."""
    return len({row[0] for row in rows(run_dir)})


def tensors(found: Any, name: str = "") -> dict[str, tuple]:
    """All that weights.pt holds, however nested, as name -> what can be compared, NaN included."""
    if isinstance(found, dict):
        return {key: value for part in found for key, value in tensors(found[part], f"{name}.{part}").items()}
    if isinstance(found, torch.Tensor):
        return {name: (str(found.dtype), tuple(found.shape), found.numpy().tobytes())}
    return {name: (repr(found),)}


def differences(run_dir: Path, whole: Path) -> list[str]:
    """What is not the same in two runs, in words."""
    found = []
    ours, right = rows(run_dir), rows(whole)
    if ours != right:
        first = next((i for i, pair in enumerate(zip(ours, right)) if pair[0] != pair[1]), min(len(ours), len(right)))
        shown = [",".join(table[first]) if first < len(table) else "nothing" for table in (ours, right)]
        found.append(f"row {first + 2} of metrics.csv is {shown[0]} instead of {shown[1]}")
    summaries = [json.loads((place / "done.json").read_bytes()) for place in (run_dir, whole)]
    ours, right = ({k: repr(v) for k, v in summary.items() if MEASURED not in k} for summary in summaries)
    other = [name for name in sorted(ours.keys() | right.keys()) if ours.get(name) != right.get(name)]
    found += [f"{', '.join(other)} in done.json"] if other else []
    weights = [place / "weights.pt" for place in (run_dir, whole)]
    if any(path.exists() for path in weights):
        ours, right = (tensors(torch.load(path, weights_only=True)) if path.exists() else {} for path in weights)
        other = [name for name in ours.keys() | right.keys() if ours.get(name) != right.get(name)]
        found += [f"{len(other)} of {len(right)} tensors in weights.pt"] if other else []
    found += [f"{path.name} was left behind" for path in run_dir.glob("*.tmp")]
    return found

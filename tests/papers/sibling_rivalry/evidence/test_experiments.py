"""What is particular to this paper's experiments: their settings, what they share, and what the pages say of them."""

import re
from collections import Counter
from pathlib import Path

import pytest

from papers.sibling_rivalry import train_track
from papers.sibling_rivalry.evidence import experiments
from papers.sibling_rivalry.evidence.experiments import EXPERIMENTS
from papers.sibling_rivalry.evidence.figures import FIGURES
from papers.sibling_rivalry.train_build import Config as BuildConfig

SCALES = ("smoke", "quick", "full")
ANTS = ("ant", "ant-oracle", "ant-long")
ROOM = Path(experiments.__file__).parents[1]


def configs(name: str, scale: str) -> list:
    return [entry.config for entry in EXPERIMENTS[name](scale)]


AS_QUICK = {name for name in EXPERIMENTS if configs(name, "full") == configs(name, "quick")}


def test_a_label_says_what_differs_from_the_papers_protocol_at_full():
    """The defaults are the paper's values, where it states any."""
    fields = {"epsilon": "epsilon", "side": "cell_side"}
    for name in EXPERIMENTS.keys() - AS_QUICK - {"track", "construction", "construction-fresh"}:
        found = Counter((entry.method, entry.env) for entry in EXPERIMENTS[name]("full"))
        assert set(found.values()) == {5}
        for entry in EXPERIMENTS[name]("full"):
            c, (method, _, variant) = entry.config, entry.method.partition(" ")
            said = re.fullmatch(r"\((epsilon|side) (\d+)\)", variant)
            changed = {fields[said[1]]: float(said[2])} if said and (name, said[2]) != ("epsilon", "5") else {}
            changed |= dict(independent_starts=True) if variant == "(independent starts)" else {}
            changed |= dict(worker_rollouts=80) if variant == "(one pool)" else {}
            if re.match("Corridor|UMaze", c.env) and method == "ppo-sr" and not variant:
                changed |= dict(epsilon=int(c.env.partition("-")[2]) / 2)
            changed |= dict(eval_episodes=100 if method.startswith("ppo") else 200) if name in ANTS else {}
            assert c == type(c)(entry.env, method, entry.seed, epochs=50, **changed)


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name not in ("track", "construction", "low-level")])
def test_what_quick_changes_is_the_same_for_all_methods_of_a_task(name):
    """But for the batches of DQN, and the side of the Grid Oracle's regions and the memory in half the ant maze."""
    lengths: dict[str, set] = {}
    for c in configs(name, "quick"):
        if hasattr(c, "epochs"):
            lengths.setdefault(c.env, set()).add(c.epochs)
        if c.method == "ddpg-her" and c.env == "AntMazeSmall":  # a transition and four in hindsight per decision
            assert 5 * 20 * 1_600 * c.epochs <= c.capacity
    assert all(len(found) == 1 for found in lengths.values())


def test_quick_and_full_share_nothing_but_whole_experiments():
    assert AS_QUICK == {"whole-grid", "dense-grid", "ant-short", "ant-long", "low-level"}
    quick, full = ({c for name in EXPERIMENTS.keys() - AS_QUICK for c in configs(name, at)} for at in SCALES[1:])
    assert {type(c) for c in quick & full} == {train_track.Config}


@pytest.mark.parametrize(("seen", "after"), [("ant-short", ANTS), ("construction", ["construction-fresh"])])
def test_seeds_that_were_seen_are_not_used_again(seen, after):
    short, long = ({c.seed for name in names for c in configs(name, "quick")} for names in ([seen], after))
    assert short == set(range(5)) and not short & long


# ---- pages -----------------------------------------------------------------------------------------------------------


def episodes(config) -> int:
    return config.episodes if isinstance(config, BuildConfig) else 4_000 * config.epochs


def rows(page: str) -> dict[str, list[str]]:
    """Figure -> the other cells of its row in a table of the page."""
    found = {}
    for line in (ROOM / page).read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `sibling-rivalry-"):
            found |= {name: cells[1:] for name in re.findall(r"-((?:fig|own-)[\w-]+)`", cells[0])}
    return found


def test_the_notebook_counts_runs_and_episodes_as_they_are():
    found = {name: cells for name, cells in rows("NOTEBOOK.md").items() if name.startswith("fig")}
    assert set(found) == {name for name in FIGURES if name.startswith("fig")}
    for name, (_, *cells) in found.items():
        # the ant has lines of its own, and the seeds that were added are named apart
        there = [one for one in FIGURES[name].experiments if one not in (*ANTS, "construction-fresh")]
        for cell, scale in zip(cells, ("quick", "full")):
            count, seeds = re.match(r"(\d+)(?: \w+)? x (\d+)", cell).groups()
            entries = [(one, entry) for one in there for entry in EXPERIMENTS[one](scale)]
            runs = Counter((one, entry.method, entry.env) for one, entry in entries)
            assert int(count) == len(runs) and {int(seeds)} == set(runs.values()), f"{name} at {scale}"
            said = {int(number.replace(",", "")) for number in re.findall(r"\d+,000", cell)}
            if said:  # all numbers of thousands are of episodes
                assert said == {episodes(entry.config) for _, entry in entries}, name


def test_the_readme_says_the_minutes_of_the_makefile():
    minutes = re.findall(r"^sibling-rivalry-([\w-]+): *## +(\d+) \|", (ROOM.parents[1] / "Makefile").read_text(), re.M)
    assert {name: cells[-1] for name, cells in rows("README.md").items()} == dict(minutes)

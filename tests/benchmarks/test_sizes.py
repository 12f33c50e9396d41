"""Time against size: what is measured, and what is made of it; no clock's verdict counts."""

import inspect

import numpy as np
import pandas as pd
import pytest

from benchmarks import peer_tasks, sizes

OTHERS = {"width": ("PyTorch", "SBX"), "batch": ("SBX",), "memory": ("rlox",), "games": ("navix",)}
FRAME = pd.DataFrame(
    [
        (study, size, who, us)
        for study, others in OTHERS.items()
        for size, factor in ((32, 1.0), (1024, 8.0))
        for who, us in (("ours", 2.0 * factor), *((other, 4.0 + factor * (i + 1)) for i, other in enumerate(others)))
    ],
    columns=["study", "size", "who", "us"],
)  # fmt: skip


def test_the_table_names_the_fastest_other_at_each_size():
    _, _, *lines = sizes.table(FRAME, "width").splitlines()
    assert [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines] == [
        ["32", "2", "5", "6", "0.4 (PyTorch)"],
        ["1,024", "16", "12", "20", "1.33 (PyTorch)"],
    ]


def test_page_and_picture_have_every_study(tmp_path):
    page = sizes.page(FRAME)
    assert all(f"## {study.title} ({study.unit})" in page for study in sizes.STUDIES.values())
    assert page.count("ours / fastest other") == len(sizes.STUDIES) and "OpenBLAS" in page
    sizes.draw(FRAME, tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", sizes.STUDIES)
def test_each_size_has_ours_and_peers_that_can_be_made(name):
    study = sizes.STUDIES[name]
    for size in study.sizes:
        for maker, arguments in study.peers(size).values():
            inspect.signature(getattr(peer_tasks, maker)).bind(**arguments)
    ours = study.ours(study.sizes[0])
    assert next(iter(ours)) == "ours" and {*ours, *study.peers(study.sizes[0])} <= set(sizes.COLOURS)
    assert all(task() > 0.0 for task in ours.values())


def test_a_large_size_is_timed_on_fewer_steps():
    assert [sizes.updates(width, 128) for width in (32, 256, 512, 1024)] == [64, 16, 4, 2]
    assert sizes.updates(256, 1024) == 2


def test_an_unknown_study_costs_one_line(capsys):
    with pytest.raises(SystemExit) as stopped:
        sizes.main(["widths"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == "error: unknown study 'widths'; choose from: width, batch, memory, games\n"


def test_what_the_readme_says_holds():
    """Update by update, ours is ahead at each width, of JAX by less the wider the network."""
    path = sizes.FILES.with_suffix(".csv")
    if not path.exists():
        pytest.skip("not measured on this checkout")
    times = pd.read_csv(path).query("study == 'width'").pivot(index="size", columns="who", values="us")
    ratios = times[sizes.OURS] / times[sizes.SBX]
    assert np.all(ratios < 1.0) and np.all(times[sizes.OURS] < times[sizes.LITERAL])
    assert ratios.iloc[0] < 0.5 < ratios.iloc[-1]

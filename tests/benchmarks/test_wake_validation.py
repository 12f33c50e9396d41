"""What can be checked about the flow's validation without running it; what it found is in wake_validation.md."""

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.wake_validation import REFERENCES, Forces, main, off, page, strouhal
from lab.run.errors import UserError

PAGE = Path(__file__).resolve().parents[2] / "benchmarks/wake_validation.md"


def test_the_strouhal_number_of_a_sine_with_ripples():
    time = np.sort(np.random.default_rng(0).uniform(0, 40, 8000))
    lift = 0.3 + np.sin(2 * np.pi * 0.17 * time) + 0.02 * np.sin(300 * time)
    assert strouhal(Forces(time, lift, lift)) == pytest.approx(0.17, rel=2e-3)
    with pytest.raises(UserError, match="no vortices are shed"):
        strouhal(Forces(time, lift, time))


def test_distances_from_a_range():
    assert (
        off(1.33, (1.3, 1.4)) == "in range" and off(1.1, (1.0, 1.05)) == "+4.8 %" and off(0.9, (1.0, 1.05)) == "-10.0 %"
    )


def test_the_page_has_a_line_per_quantity_and_a_column_per_grid():
    numbers = {16: dict.fromkeys(REFERENCES, 1.0), 32: dict.fromkeys(REFERENCES, 0.165)}
    lines = [line for line in page(numbers, 0.4).splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(REFERENCES) and "D/16" in lines[0] and "D/32" in lines[0]
    strouhal_line = next(line for line in lines if line.startswith("| cylinder, Re 100: Strouhal"))
    assert "1 (+498.8 %)" in strouhal_line and "0.165 (in range)" in strouhal_line


def test_what_was_measured_is_what_was_asked_for():
    """At D/32: Strouhal numbers within 5 %, drag within 15 %; the D-section's grids agree within 3 %."""
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if line[:2] == "| "
    ]
    head, *rows = rows
    assert head[2:] == ["D/16", "D/32"]
    for what, _, coarse, fine in rows:
        if share := re.search(r"([+-][\d.]+) %", fine):
            assert abs(float(share[1])) <= (5 if "Strouhal" in what else 15), what
        if what.startswith("D-section") and "Strouhal" in what:
            assert float(coarse) == pytest.approx(float(fine), rel=0.03)
    assert sum(bool(REFERENCES.get(row[0])) for row in rows) == len(REFERENCES)


@pytest.mark.parametrize(("arguments", "message"), [
    ("--cells 8", "the grid is too coarse: the ellipse's half axis of 0.1 spans 0.8 cells"),
    ("--cells 1", "at least 8 x 8 cells"),
    ("--reynolds 0", "the Reynolds number must be positive, not 0.0"),
    ("--reynolds -1", "the Reynolds number must be positive"),
    ("--courant 3", "a Courant number of 3.0 makes the time step unstable"),
])  # fmt: skip
def test_what_cannot_work_costs_one_line_and_writes_nothing(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*arguments.split(), "--out", str(tmp_path / "x")])
    error = capsys.readouterr().err
    assert ended.value.code == 2 and message in error and error.count("\n") == 1
    assert not list(tmp_path.iterdir())

"""Words for a pendulum's state, as Fig. 1 uses them. The limits are ours; the paper names none."""

import math

EXCESSIVE = 0.75
"""Share of the largest torque above which an action counts as excessively large."""


def posture(angle: float) -> str:
    """upright, horizontal or downward: the quarters of the circle around these. angle in rad, 0 is upright."""
    away = abs(math.remainder(angle, 2 * math.pi))
    return "upright" if away < math.pi / 4 else "horizontal" if away <= 3 * math.pi / 4 else "downward"

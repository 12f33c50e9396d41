"""Filtered-HER: leave out virtual transitions that mislead (Sec. 3.2, Algorithm 2).

Hindsight gives a transition a goal that its episode achieved later. If the state in which the action was taken had
already achieved that goal, the action seems to have earned the success, whatever it was: a hand that misses the ball is
rewarded for leaving the ball where it lies. An agent that stops at success never experiences such a transition, so
nothing corrects its value.
"""

from collections.abc import Callable

import numpy as np

Reward = Callable[[np.ndarray, np.ndarray, None], np.ndarray]
"""A goal environment's `compute_reward(achieved [n, d], desired [n, d], info)` -> [n]; 0 means success."""


def misleading(achieved_before: np.ndarray, virtual_goals: np.ndarray, reward: Reward) -> np.ndarray:
    """Which virtual transitions to leave out: bool [n].

    achieved_before: the goal achieved in the state where the action starts [n, d]. virtual_goals: [n, d].
    """
    return reward(achieved_before, virtual_goals, None) == 0  # Algorithm 2, line 20: r(s_{t-1}, a_{t-1}, g~) = 0

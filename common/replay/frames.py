"""Replay memory for frames: every frame is stored once; stacks of frames and n-step returns are made from them.

There are two rings. One holds *frames*: those of an episode in order and, if the time limit cut the episode, its last
one too, whose value continues the return. The other holds *transitions*: action, n-step return, and which frames make
up the states before and after. A transition is stored once its return is complete, n steps after its action or at the
end of its episode. So every stored transition can be drawn, no return reaches beyond the end of an episode or of what
is stored, and the slots of the transitions fill one after another: 0, 1, 2, ...
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
from numba import njit
from torch import Tensor

from common.replay.storage import Fields, Ring, announce, ring_bytes


@dataclass
class Batch:
    """n transitions on the learner's device; stacks are uint8 [n, stack, height, width], the newest frame last."""

    state: Tensor
    action: Tensor
    """int64 [n]."""
    reward: Tensor
    """Discounted sum of the rewards until the next state, float32 [n]."""
    discount: Tensor
    """Factor of the next state's value: gamma^n, or gamma^k where the time limit cut the episode after k < n steps, or
    0 where it terminated; float32 [n]."""
    next_state: Tensor
    """The state after n steps, or the last one of an episode that was cut; black where the episode terminated."""


FRAME = (84, 84)
TRANSITION: Fields = {
    "action": ((), np.int64), "reward": ((), np.float32), "discount": ((), np.float32),
    "frame": ((), np.int64),  # number of the state's newest frame; number k lies in place k % n_frames
    "t": ((), np.int64),  # step in the episode
    "ahead": ((), np.int64),  # frames from the state to the next one; 0 where the episode terminated
}  # fmt: skip


def layout(
    capacity: int, n: int, *, cut_every: int, shape: tuple[int, int] = FRAME, stack: int = 4
) -> tuple[int, Fields]:
    """How many frames a `FrameMemory` keeps, and what each takes together with a transition."""
    # Frames of the stored transitions and of those not yet complete, those before them in the oldest stack, the last
    # frames of cut episodes, and the current one.
    reach = capacity + n
    n_frames = reach + stack + -(-reach // cut_every) + 1
    return n_frames, {"frame": (shape, np.uint8), "transition": ((ring_bytes(1, TRANSITION),), np.uint8)}


class FrameMemory:
    """The last `capacity` transitions.

    n, gamma: steps and discount of the returns. shape: of a frame. stack: frames that make a state; before an
    episode's first frame they are black. cut_every: the time limit cuts episodes at least this many steps apart; it
    decides how much room their last frames get. MemoryError if the machine has too little memory.
    """

    def __init__(
        self,
        capacity: int,
        n: int,
        gamma: float,
        *,
        cut_every: int,
        shape: tuple[int, int] = FRAME,
        stack: int = 4,
        device: str = "cpu",
    ):
        if n < 1 or cut_every < 1 or stack < 1:
            raise ValueError("n, stack and cut_every must be at least 1")
        self.n, self.gamma, self.stack, self.device = n, gamma, stack, device
        n_frames, fields = layout(capacity, n, cut_every=cut_every, shape=shape, stack=stack)
        announce(n_frames, fields)
        self.frames, self.transitions = Ring(n_frames, {"frame": fields["frame"]}), Ring(capacity, TRANSITION)
        self.seen = 0
        """Frames so far: the current one has the number `seen - 1`."""
        self.t = 0
        """Steps since the episode began."""
        self._playing = False  # is an episode running: has it begun, and not ended?
        self._actions: deque[int] = deque()  # of the steps not yet complete, oldest first
        self._rewards: deque[float] = deque()
        self._discounts = gamma ** np.arange(n + 1)

    def __len__(self) -> int:
        """Number of transitions stored; their slots are 0 .. len - 1."""
        return len(self.transitions)

    @property
    def capacity(self) -> int:
        return self.transitions.capacity

    def __getitem__(self, field: str) -> np.ndarray:
        """The field "action", "reward" or "discount" of all transitions by their slot, not a copy."""
        return self.transitions[field]

    # --- writing ------------------------------------------------------------------------------------------------------

    def reset(self, frame: np.ndarray) -> None:
        """Begin a new episode with `frame`. ValueError if the one before has not ended: see `cut`."""
        if self._actions:
            raise ValueError(
                "the episode before has not ended: its last step was neither terminated nor truncated; call cut() first"
            )
        self.t, self._playing = 0, True
        self._add_frame(frame)

    def cut(self) -> list[int]:
        """Abandon the running episode: it ends as if cut by the time limit, and `reset` must follow. Returns the slots
        of the transitions that this completes. For `cut_every`, it counts as cut by the time limit."""
        self._playing = False
        return [self._complete(False) for _ in range(len(self._actions))]

    def add(self, action: int, reward: float, frame: np.ndarray, terminated: bool, truncated: bool) -> list[int]:
        """Add what followed the current frame: an action, its reward as the learner is to see it, and the next frame.

        Returns the slots of the transitions that this step completes: none in an episode's first n - 1 steps, then one
        each, and the rest at its end. After the end `reset` must follow, else ValueError. The frame after a termination
        is not kept.
        """
        if not self._playing:
            raise ValueError("no episode is running: call reset() with its first frame")
        self._playing = not (terminated or truncated)
        self._actions.append(action)
        self._rewards.append(reward)
        self.t += 1
        if not terminated:
            self._add_frame(frame)
        completed = []
        while self._actions and (len(self._actions) >= self.n or terminated or truncated):
            completed.append(self._complete(terminated))
        return completed

    def _add_frame(self, frame: np.ndarray) -> None:
        if len(self) > 0:
            oldest = self.transitions["frame"][self.transitions.next_index if self.transitions.full else 0]
            if self.seen - self.frames.capacity > oldest - self.stack:  # what is overwritten belongs to its stack
                raise ValueError("episodes are cut by a time limit more often than cut_every says")
        self.frames.add(frame=frame)
        self.seen += 1

    def _complete(self, terminated: bool) -> int:
        """Store the oldest step not yet complete, with all rewards so far; return its slot."""
        steps = len(self._actions)
        slot = self.transitions.add(
            action=self._actions.popleft(),
            reward=np.dot(self._discounts[:steps], self._rewards),
            discount=0.0 if terminated else self._discounts[steps],
            # the frame after a termination is not kept: the current one is then that of the last step
            frame=self.seen - 1 - steps + terminated,
            t=self.t - steps,
            ahead=0 if terminated else steps,
        )
        self._rewards.popleft()
        return slot

    def since(self, slot: int) -> int:
        """Steps that the running episode has taken since the state in `slot`, one of those that `add` just returned."""
        return self.t - int(self.transitions["t"][slot])

    # --- reading ------------------------------------------------------------------------------------------------------

    def state(self) -> np.ndarray:
        """The current state, uint8 [stack, height, width], as it will be replayed."""
        return self._stacks(np.array([self.seen - 1]), np.array([self.t]))[0]

    def states(self, slots: np.ndarray) -> np.ndarray:
        """States of the transitions in `slots` [n], uint8 [n, stack, height, width]."""
        stored = self.transitions
        return self._stacks(stored["frame"][slots], stored["t"][slots])

    def next_states(self, slots: np.ndarray) -> np.ndarray:
        """States after the returns of the transitions in `slots`, likewise; black where an episode terminated."""
        stored = self.transitions
        ahead = stored["ahead"][slots]
        # if the newest frame of a state has step -1, none of its frames belongs to the episode
        return self._stacks(stored["frame"][slots] + ahead, np.where(ahead > 0, stored["t"][slots] + ahead, -1))

    def batch(self, slots: np.ndarray) -> Batch:
        """The transitions in `slots` [n]."""
        stored = self.transitions
        parts = (
            self.states(slots),
            stored["action"][slots],
            stored["reward"][slots],
            stored["discount"][slots],
            self.next_states(slots),
        )
        return Batch(*(torch.from_numpy(part).to(self.device) for part in parts))

    def _stacks(self, newest: np.ndarray, t: np.ndarray) -> np.ndarray:
        frames = self.frames["frame"]
        places = newest % self.frames.capacity
        stacks = _gather(frames.reshape(len(frames), -1), places, t, self.stack)
        return np.moveaxis(stacks.reshape(-1, *frames.shape[1:], self.stack), 3, 1)


@njit(cache=True)
def _gather(frames, places, t, stack):
    """Return the stacks [n, pixels, stack] that end with the frames [pixels] in `places` [n], taken at steps t [n].

    Frames from before the episode are black. The stack is the last axis because convolutions want their input that way.
    """
    pixels = frames.shape[1]
    out = np.zeros((places.size, pixels, stack), np.uint8)
    for k in range(places.size):
        for back in range(min(stack, t[k] + 1)):
            place = places[k] - back
            frame = frames[place if place >= 0 else place + frames.shape[0]]
            for i in range(pixels):
                out[k, i, stack - 1 - back] = frame[i]
    return out

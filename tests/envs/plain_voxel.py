"""The voxel world once more, in plain Python: a dict of blocks, angles in degrees, and a ray in many small steps."""

import itertools
import math


class PlainWorld:
    """One state that changes in place. `state`: as a list, laid out as `voxel_kernels` says."""

    def __init__(self, state, size, height):
        self.size, self.height = size, height
        self.blocks = {}
        for number, (z, y, x) in enumerate(itertools.product(range(height), range(size), range(size))):
            if state[number]:
                self.blocks[x, y, z] = state[number]
        self.x, self.y, self.z, heading, pitch, *self.bag = state[size * size * height :]
        self.angle, self.pitch = 45 * heading, (-30, 0, 30, 45, 60)[pitch]

    def state(self):
        cells = itertools.product(range(self.height), range(self.size), range(self.size))
        pose = [self.x, self.y, self.z, self.angle // 45, (-30, 0, 30, 45, 60).index(self.pitch), *self.bag]
        return [self.blocks.get((x, y, z), 0) for z, y, x in cells] + pose

    def body(self):
        return {(self.x, self.y, self.z), (self.x, self.y, self.z + 1)}

    def aim(self):
        """The block that is met within reach, or None, and the cell before it or before the ground, or None."""
        east, north = math.sin(math.radians(self.angle)), math.cos(math.radians(self.angle))
        level, sink = math.cos(math.radians(self.pitch)), math.sin(math.radians(self.pitch))
        before = None
        for k in range(400):
            at = 4 * (k + 0.5) / 400
            x = math.floor(self.x + 0.5 + at * level * east)
            y = math.floor(self.y + 0.5 + at * level * north)
            z = math.floor(self.z + 1.62 - at * sink)
            if min(x, y) < 0 or max(x, y) >= self.size:
                return None, None
            if z < 0 or (x, y, z) in self.blocks:
                open_ = before not in self.body() and before[2] < self.height
                return (None if z < 0 else (x, y, z)), (before if open_ else None)
            before = (x, y, z)
        return None, None

    def walk(self, angle):
        east, north = round(math.sin(math.radians(angle))), round(math.cos(math.radians(angle)))
        x, y = self.x + east, self.y + north
        if min(x, y) < 0 or max(x, y) >= self.size:
            return
        for rise in (0, 1):
            z = self.z + rise
            swept = {(u, v, w) for u in (self.x, x) for v in (self.y, y) for w in (z, z + 1)}
            if not swept & self.blocks.keys():
                self.x, self.y, self.z = x, y, z
                while self.z > 0 and (x, y, self.z - 1) not in self.blocks:
                    self.z -= 1
                return

    def step(self, action):
        if action < 8:
            for _ in range(2 if action >= 4 else 1):
                self.walk(self.angle + 90 * (action % 4))
        elif action < 12:
            self.angle = (self.angle + {8: -90, 9: -45, 10: 45, 11: 90}[action]) % 360
        elif action < 17:
            self.pitch = (-30, 0, 30, 45, 60)[action - 12]
        elif action == 17:
            block, _ = self.aim()
            if block:
                self.bag[self.blocks.pop(block) - 1] += 1
        else:
            _, cell = self.aim()
            if cell and self.bag[action - 18]:
                self.bag[action - 18] -= 1
                self.blocks[cell] = action - 17

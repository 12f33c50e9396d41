"""Environments as gymnasium.Env; they know nothing about agents. Importing this package registers their ids."""

from gymnasium import register

for _name in ("Hand", "HandWall", "Robot"):
    register(
        id=f"{_name}-v1",
        entry_point=f"envs.throwing:{_name}",
        vector_entry_point=f"envs.throwing.vector:{_name}Vector",
        max_episode_steps=50,
    )
register(id="Atari-v0", entry_point="envs.atari:Atari")
register(id="Sokoban-v0", entry_point="envs.sokoban:Sokoban")
register(id="SparsePendulum-v0", entry_point="envs.sparse_pendulum:SparsePendulum", max_episode_steps=200)
for _name in ("BitFlip", "BitFlipBox"):
    register(id=f"{_name}-v0", entry_point=f"envs.bitflip:{_name}")
for _name, _maker in {
    "PointMaze": "envs.maze.point_maze:point_maze_env",
    "Corridor": "envs.maze.point_maze:corridor_env",
    "UMaze": "envs.maze.point_maze:u_maze_env",
    "TreeMaze": "envs.maze.point_maze:tree_maze_env",
    "PixelGrid": "envs.pixel_grid:pixel_grid_env",
    "CircularTrack": "envs.circular_track:circular_track_env",
    "AntMaze": "envs.ant.ant_maze:ant_maze_env",
    "AntMazeSmall": "envs.ant.ant_maze:small_ant_maze_env",
    "AntArena": "envs.ant.ant_maze:ant_arena_env",
}.items():
    register(id=f"{_name}-v0", entry_point=_maker)
for _name, _maker, _vector in (
    ("VoxelBuild", "voxel_build_env", "VoxelBuildVector"),
    ("VoxelBuildSmall", "small_voxel_build_env", "SmallVoxelBuildVector"),
):
    register(
        id=f"{_name}-v0",
        entry_point=f"envs.voxel.build:{_maker}",
        vector_entry_point=f"envs.voxel.vector:{_vector}",
    )
for _name, _cells in (("WakeFlow", 16), ("WakeFlow32", 32), ("WakeFlow64", 64)):
    register(id=f"{_name}-v0", entry_point="envs.wake.flow:WakeFlow", max_episode_steps=400, kwargs={"cells": _cells})

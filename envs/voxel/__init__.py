"""Construction in a small voxel arena: the world, its vector form, goals, an eye and a scripted builder."""

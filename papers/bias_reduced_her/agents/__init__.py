"""DDPG in its literal form and as kernels, the double DQN for bit flipping, and the scaling of inputs."""

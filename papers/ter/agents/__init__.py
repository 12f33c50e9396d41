"""The learners: double DQN, DisCor and DreamerV2, their networks and settings."""

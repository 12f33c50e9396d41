"""The learners of Sibling Rivalry and of the baselines, their networks, rewards and tasks."""

"""How methods are called in figures and claims."""

NAMES = {
    "ppo": "PPO",
    "ppo-sr": "PPO+SR",
    "ppo-icm": "PPO+ICM",
    "ppo-rnd": "PPO+RND",
    "ppo-go": "PPO+GO",
    "ddpg-her": "DDPG+HER",
    "dqn": "DQN (dense reward)",
    "dqn-her": "DQN+HER",
    "impala": "IMPALA",
    "impala-sr": "IMPALA+SR",
}


def label(method: str) -> str:
    """A method's label as legends print it: "ppo-sr (epsilon 5)" is "PPO+SR (ε = 5)"."""
    base, _, variant = method.partition(" ")
    return " ".join([NAMES.get(base, base), *([variant.replace("epsilon", "ε =")] if variant else [])])

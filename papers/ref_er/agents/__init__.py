"""V-RACER, DDPG, NAF, ACER and PPO: the learners that ReF-ER serves or is compared with."""

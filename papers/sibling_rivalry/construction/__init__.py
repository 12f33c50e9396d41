"""The construction task of Fig. 5: networks, players side by side, the task."""

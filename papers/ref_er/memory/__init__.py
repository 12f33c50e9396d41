"""The memory of whole episodes, and the count of far-policy samples in it."""

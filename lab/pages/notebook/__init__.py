"""A Jupyter notebook per paper, made from its room: idea, equation, code, a run of minutes, the figure."""

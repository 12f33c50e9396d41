"""Colours of methods, kept apart from plotting so that naming methods does not load a plotting library.

Okabe and Ito's (2008) palette for the colour-blind, without its yellow, which is too pale for a line. Uniform replay,
prioritised replay and a paper's own method have the same colour in all papers.
"""

BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK = PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)  # fmt: skip
UNIFORM = BLUE
"""Plain replay, or the baseline that a paper's method starts from."""
PRIORITISED = ORANGE
OWN_METHOD = VERMILLION
"""The method that the paper is about."""
OTHERS = (GREEN, PURPLE, SKY, BLACK)
"""For everything else, in this order."""

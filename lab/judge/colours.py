"""Colours of methods, without a plotting library, so that what only names methods need not load one.

Okabe and Ito (2008): colours that the colour-blind tell apart; their yellow, too pale for a line, is left out. Uniform
replay, prioritised replay and a paper's own method have the same colour in all papers.
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

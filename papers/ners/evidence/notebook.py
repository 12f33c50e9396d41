"""What this paper's notebook shows (`make notebook`)."""

from lab.pages.notebook import Notebook

NOTEBOOK = Notebook(
    equations=("Eq. (1)", "Eq. (4)", "Eq. (6)", "Eq. (7)"),
    code=("papers.ners.ners:ScoreNetwork.forward", "papers.ners.ners:NERS.learn", "papers.ners.ners:NERS.reinforce"),
    about="All runs of `own-why`: how the score networks shrink the spread of their inputs. No agent is trained.",
    figure="own-why",
)

"""How the repository becomes the package `replaybook`: init.py is its top, modules.py the rest."""

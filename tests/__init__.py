"""Mirrors the tree. A package, so that no installed one of the same name is taken for it."""

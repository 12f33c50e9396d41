"""Pages made of what is committed: the report, and code beside its equations."""

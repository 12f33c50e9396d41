"""Pages made from committed files: the report, and code beside its equations."""

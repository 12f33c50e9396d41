"""The papers' code as pages to read: comments and equations beside the lines they belong to (`make read`)."""

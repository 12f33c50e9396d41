"""What two or more papers share. Knows nothing of any paper."""

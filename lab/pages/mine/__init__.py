"""One page about what this machine has run: its pictures and verdicts beside the committed ones (`make reproduce`)."""

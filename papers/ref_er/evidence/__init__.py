"""What was run for this paper, what came out, and what it says of the paper's claims."""

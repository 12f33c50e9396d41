"""The graph of visited states, the memory, and EBU."""

"""States by number, their graph (literal and compiled), the memory, and EBU."""

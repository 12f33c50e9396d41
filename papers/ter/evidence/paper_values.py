"""Numbers that the paper prints."""

STATISTICS = ("mean", "median", "min", "max")
TABLE_B1 = {
    "uer": ("0.002", "3e-5", "1e-5", "0.086"),
    "per": ("0.003", "1e-4", "4e-5", "0.28"),
    "ebu": ("0.002", "3e-5", "1e-5", "0.083"),
    "discor": ("0.003", "4e-5", "1e-5", "0.11"),
    "ter": ("0.002", "2e-4", "1e-4", "0.256"),
}
"""Table B.1: seconds to make a batch, in the order of STATISTICS."""

"""What is measured without training: times of batches, sweeps by 1 and by 3 predecessors."""

"""LSTM networks for the task that is seen in part (Sec. 5.4)."""

"""What an operator does: runnable incidents with expectations, and the runbook beside each."""

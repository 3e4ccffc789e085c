"""Output of nccl-tests: text and JSON."""

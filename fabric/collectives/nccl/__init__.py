"""NCCL's model of its algorithms: predicted times, and the choice between algorithms and protocols; without I/O."""

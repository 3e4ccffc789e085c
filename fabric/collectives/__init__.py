"""Collective operations: definitions, schedules with their proof, closed forms, NCCL's choice; without I/O."""

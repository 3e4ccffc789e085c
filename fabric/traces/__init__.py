"""Traces of other tools: Chakra, GOAL, SimAI, nccl-tests; read, checked, converted and made into transfers."""

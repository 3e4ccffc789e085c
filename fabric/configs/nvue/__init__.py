"""NVIDIA NVUE (Cumulus Linux): a startup file or `nv set` commands to the neutral model."""

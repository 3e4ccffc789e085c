"""Named parameter sets with their sources: ASICs, DCQCN, ECN, headroom, models."""

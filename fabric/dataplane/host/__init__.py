"""A host's network card: segmentation, pacing, acknowledgement, retransmission, pause."""

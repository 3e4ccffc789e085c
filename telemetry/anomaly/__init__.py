"""Online detectors: one sample in, one score out, with a state of constant size."""

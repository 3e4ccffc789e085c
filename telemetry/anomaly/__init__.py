"""Online detectors: one sample in, one score out, with a state that never grows."""

"""What-if studies of one scenario: failures, maintenance, growth, and the redundancy of its paths."""

"""A search without a finding: the worst traffic for every class of ports, its margins, and mutated workloads."""

"""Traffic that shows a finding: one file for each family of traffic."""

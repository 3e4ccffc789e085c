"""What an operator sees: metric catalogue, exporter, time series, rules, detectors, incidents."""

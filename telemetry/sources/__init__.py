"""Sources of metrics: a running engine, a recorded run, the history of its control plane, cases of the alert corpus."""

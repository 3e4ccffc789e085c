"""Export of metrics: HTTP scrapes, OpenMetrics files, remote write."""

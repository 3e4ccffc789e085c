"""A run as seen by a monitoring system: polled at real periods, with clear-on-read counters and estimates."""

"""A gNMI server for the switches of a live run: OpenConfig leaves and SONiC's COUNTERS_DB, from metrics."""

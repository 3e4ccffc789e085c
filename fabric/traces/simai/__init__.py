"""Files of SimAI: the workload of ASTRA-sim 1 and the topology."""

"""GOAL schedules of LogGOPSim and ATLAHS: the text and the binary form."""

"""Capacity of link classes: history of their utilisation, its trend, and the dates at which limits are reached."""

"""SONiC: CONFIG_DB JSON to the neutral model, the headroom table, and what the switch adds when it starts."""

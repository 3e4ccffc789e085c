"""Everything that runs per packet: state tables, ports, switches, hosts, congestion control, and the engine."""

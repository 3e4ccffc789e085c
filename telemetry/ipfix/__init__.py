"""IPFIX (RFC 7011), and the numbers that SONiC's high-frequency telemetry gives to counters in it."""

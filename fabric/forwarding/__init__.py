"""Where packets go: forwarding tables at a moment, the walk through them, hashes and their polarisation."""

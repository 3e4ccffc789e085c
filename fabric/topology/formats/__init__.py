"""Topology files of other tools: containerlab, netlab, GraphML and node-link JSON."""

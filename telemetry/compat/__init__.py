"""The same values under the names of exporters that people have dashboards for."""

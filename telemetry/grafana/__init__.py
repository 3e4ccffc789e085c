"""Dashboards for Grafana: what a panel is, where its queries come from, and one file a dashboard."""

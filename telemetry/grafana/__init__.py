"""Dashboards for Grafana: model of a panel, construction of queries, and one file per dashboard."""

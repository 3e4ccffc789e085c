"""Test plans of a whole fabric: that of a folder of configurations, or of a scenario."""

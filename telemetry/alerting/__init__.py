"""Rules, alerts, incidents, and their measured quality."""

"""From configurations to a scenario: a table of rows, one a setting."""

"""Text as every reader takes it: JSON and YAML with the line of each key, names as they are spelled, lists of ports."""

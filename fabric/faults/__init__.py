"""What goes wrong and when: each fault compiles to dated edits and a line of ground truth."""

"""The part of PromQL that our rules use, as typed expressions: rendered to text, checked, and evaluated over numpy."""

"""`python -m fabric`: the command where its script is not on the path."""

from __future__ import annotations

from fabric.cli.main import entry

if __name__ == "__main__":
    entry()

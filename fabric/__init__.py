"""A packet-level emulator of data-centre network fabrics.

The distribution is called ``fabric-emulator`` and the command ``fabric``. An unrelated SSH tool on PyPI uses the
same import name; nothing here depends on it. Importing this package does nothing.
"""

__version__ = "0.1.0"
"""The one place that states the version: the build, ``fabric --version`` and every run's manifest read it here."""

"""How fast the emulator is, where the time goes, and what it needs: `python -m bench`."""

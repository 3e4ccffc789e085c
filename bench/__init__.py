"""Speed, time and memory of the emulator: `python -m bench`."""

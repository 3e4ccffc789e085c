"""Sizes, fields and magic numbers of every standard the emulator speaks. No bytes are made here, no I/O."""

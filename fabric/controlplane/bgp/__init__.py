"""A BGP-4 speaker without I/O: bytes and time in, actions out. Start reading at speaker.py."""

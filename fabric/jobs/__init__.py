"""Training and inference jobs: sizes, work, volumes, pipeline orders, placement, and schedules as transfers.

Pure functions and frozen data: no file is written, no clock is read, random generators are arguments.
"""

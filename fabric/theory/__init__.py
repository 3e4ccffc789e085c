"""Expected values: closed forms, fluid equations and exact arithmetic, one subject a file.

Nothing here runs or imports the engine. Every function returns a number in a stated unit and cites its equation. The
rows of verify/fidelity and the tests compare the engine with these functions, so no expected value is typed in by hand.
"""

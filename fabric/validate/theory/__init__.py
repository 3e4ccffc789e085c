"""What theory expects: closed forms, fluid equations and exact arithmetic, one subject a file.

Nothing here runs or imports the engine. Every function gives a number, its unit, and the equation's source; the rows of
validate/fidelity and the tests compare the engine with them, so that no expectation is typed in by hand.
"""

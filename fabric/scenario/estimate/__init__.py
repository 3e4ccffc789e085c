"""How large a run will be, before it begins; and whether this machine can hold it."""

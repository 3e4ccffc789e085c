"""Tables of the control plane as FRR and iproute2 show them, as text and JSON."""

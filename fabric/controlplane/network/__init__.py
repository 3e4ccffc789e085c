"""The control plane of a whole fabric: BGP/EVPN speakers and VTEPs on one simulated clock, and their FIBs."""

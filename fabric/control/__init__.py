"""The control plane of a whole fabric: BGP/EVPN speakers and VTEPs on one simulated clock, and what they tell FIBs."""

"""What switch and host ports share: the scheduler, pause state, and putting a packet on the wire."""

"""What switch and host ports share: the scheduler, link flow control, transmission and the wire."""

"""Link flow control: what keeps a port from sending a class, behind one interface. PFC is the first kind."""

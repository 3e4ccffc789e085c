"""Real kernels and routers beside the model: sockets, namespaces, FRR, and where the two differ."""

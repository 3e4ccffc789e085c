"""Real kernels and routers beside the model: sockets, namespaces, FRR, and comparison of both."""

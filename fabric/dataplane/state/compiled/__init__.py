"""The one place that knows how Numba works inside: compilation, the table directory, atomic words, prefetching."""

"""`python -m bench.study_results`: every search that comes with the package, carried out, as one page.

The study of ECN thresholds is compared with a grid over the same space, and with other seeds of its sampler.
"""

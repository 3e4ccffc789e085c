"""The same values under the metric names of widely used exporters."""

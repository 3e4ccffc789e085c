"""A document model, and its renderings: text, JSON, HTML and SVG."""

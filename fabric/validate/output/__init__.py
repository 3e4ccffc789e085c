"""A verdict as text, JSON, SARIF, JUnit XML, HTML and Markdown."""

"""Results of test plans as text, Markdown, a page, JUnit and JSON."""

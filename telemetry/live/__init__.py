"""Live runs: paced against the wall clock, scraped, controlled over HTTP, shown in a terminal."""

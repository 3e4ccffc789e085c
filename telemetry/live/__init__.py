"""A fabric played live: paced against the wall clock, scraped, steered over HTTP, watched from a terminal."""

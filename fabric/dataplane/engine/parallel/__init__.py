"""One run on several threads: epochs of windows, balancing of tasks, worker threads and when they pay off."""

"""Published test plans on a configuration of the user's: each case a file, run on the switch alone with a tester."""

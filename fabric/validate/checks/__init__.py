"""Static checks of switch and host configurations, one file per family."""

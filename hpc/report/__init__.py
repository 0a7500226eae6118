"""Progress, timers, traces and tables."""

"""The networks of the built-in workloads, cut into blocks."""

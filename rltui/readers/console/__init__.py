"""Console logs: the metric lines of trainers, and what else they print."""

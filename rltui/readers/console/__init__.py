"""Console logs: the lines of trainers, and what they print between them."""

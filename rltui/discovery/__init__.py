"""Which files below a directory make one run."""

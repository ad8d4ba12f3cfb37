"""Where bytes come from: listing directories and following files. Knows nothing about formats."""

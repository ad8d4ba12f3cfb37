"""Where bytes come from: listing directories, following files. Knows nothing of formats."""

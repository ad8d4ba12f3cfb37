"""One file a container format: bytes in, typed records out, in pieces of any size. Knows no metric's meaning."""

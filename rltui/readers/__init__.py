"""One module for each container format: bytes in (in pieces of any size), typed records out. No module here knows what
a metric means."""

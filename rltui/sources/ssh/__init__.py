"""Files of a remote machine, over the user's own ssh."""

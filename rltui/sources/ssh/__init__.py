"""Files of a far machine, over the user's own ssh."""

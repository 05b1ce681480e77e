"""Questions about networks: the network, the region of inputs, and the property."""

"""The attacks of the battery: one module each, which declares ATTACK."""

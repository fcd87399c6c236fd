"""Guard sets as accept sets, and what of a difference between two of them the axes do not explain."""

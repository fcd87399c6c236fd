"""pytest's side: hooks that delegate, and what runs an item in a cell."""

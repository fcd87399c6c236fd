"""What a run says: as JSON, in the terminal, as Markdown."""

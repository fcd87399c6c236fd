"""What a test leaves behind in its process: found when it has ended, put back, and said."""

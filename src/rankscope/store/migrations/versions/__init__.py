"""The migrations, by their numbers."""

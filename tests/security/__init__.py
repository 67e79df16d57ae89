"""What must not be possible, across all the doors at once; what one door does by itself is tested next to it."""

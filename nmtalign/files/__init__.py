"""Layer 0: files. Text, compressed files, JSON, arrays, atomic output, and the limits of what is read."""

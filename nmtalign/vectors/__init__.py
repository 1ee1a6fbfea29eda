"""Layer 2: embeddings of one language. Load, save, look up, map, learn."""

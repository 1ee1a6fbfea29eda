"""Floor 3: what words say: scores of word pairs."""

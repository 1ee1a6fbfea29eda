"""Floor 3: heads, positions and extraction joined to an aligner; the model folder."""

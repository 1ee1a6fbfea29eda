"""Floor 6: heads, positions and extraction joined to an aligner; the model folder."""

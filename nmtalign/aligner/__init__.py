"""Layer 6: scorers, positions and extraction joined to an aligner; the model folder."""

"""Layer 6: scorers, positions and decoding joined to an aligner; training as a whole; the model folder."""

"""Layer 5: how posteriors become links: extraction, decoding, link probabilities and pair scores."""

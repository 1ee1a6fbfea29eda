"""Layer 5: expectation-maximization over a bitext."""

"""Floor 5: expectation-maximisation over a bitext."""

"""Floor 3: expectation-maximisation over a bitext."""

"""Floor 3: where attention may go: hidden Markov model, agreement of both directions."""

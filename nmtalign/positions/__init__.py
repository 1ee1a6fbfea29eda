"""Layer 4: position models: hidden Markov model, agreement of both directions, softmax with a prior."""

"""Layer 5: encoders and translation models: similarities of tokens, and attention."""

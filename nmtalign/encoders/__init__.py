"""Floor 5: encoders and translation models: similarities of tokens, attention, and a scorer made of them."""

"""Layer 5: matrices of other programs: encoders, translation models, files; links from them."""

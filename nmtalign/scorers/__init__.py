"""Layer 4: scorers: likelihood ratios and attention scores of word pairs."""

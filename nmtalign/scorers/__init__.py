"""Floor 4: heads: likelihood ratios and attention scores of word pairs."""

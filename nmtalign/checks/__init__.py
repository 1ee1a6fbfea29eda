"""Layer 7: what is wrong with a bitext. One module for each family of findings."""

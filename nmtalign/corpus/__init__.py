"""Layer 3: an encoded bitext: buckets of sentence pairs, word pairs, long pairs."""

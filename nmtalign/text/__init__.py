"""Layer 1: sentences. Bitext readers, tokenizers, vocabularies."""

"""Floor 1: sentences. Bitext readers, tokenisers, vocabularies."""

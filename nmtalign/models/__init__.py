"""Floor 3: what turns a sentence pair into attention weights and links."""

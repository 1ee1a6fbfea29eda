"""Layer 2: bilingual dictionaries: readers of public formats, cleaning of glosses."""

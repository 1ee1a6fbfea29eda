"""Layer 8: whole corpora. Streams, shards, checkpoints of a run, workers."""

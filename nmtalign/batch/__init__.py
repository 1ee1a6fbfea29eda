"""Layer 7: whole corpora. Streams, shards, checkpoints of a run, workers."""

"""Floor 4: whole corpora. Streams, shards, checkpoints of a run, workers."""

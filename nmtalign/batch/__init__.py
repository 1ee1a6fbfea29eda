"""Floor 4: whole corpora. Streams, shards, resume, workers."""

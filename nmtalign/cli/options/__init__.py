"""Options that several commands share; nothing heavy is imported here, for ``--help`` has to stay fast."""

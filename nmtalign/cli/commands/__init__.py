"""Commands: options in, one public call, files out."""

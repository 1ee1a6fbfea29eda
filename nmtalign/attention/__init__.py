"""Floor 1: the mathematics of attention. Arrays in, arrays out; knows no words and no files."""

"""Commands to look at what was aligned: ``nmtalign index``, ``find`` and ``serve``."""

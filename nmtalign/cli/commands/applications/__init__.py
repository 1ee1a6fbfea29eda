"""Commands of the applications: each calls a function of :mod:`nmtalign.applications`."""

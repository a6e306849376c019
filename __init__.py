"""How deep a draft model should speculate, and how sure one may be."""

__version__ = "0.1.0"

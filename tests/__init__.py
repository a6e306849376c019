"""Tests, each of which must be able to fail."""

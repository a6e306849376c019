"""Top floor: numbers to words, tables and the command line."""

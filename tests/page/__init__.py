"""What the tests of the page share: a made-up result, and a page read back."""

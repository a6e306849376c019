"""Analysis floor: equations, screen, bounds and what is computed from them."""

"""The searches: CART, differential evolution, the moving horizon."""

"""Bricks that readers are built of: small modules with no opinion about any paper's whole."""

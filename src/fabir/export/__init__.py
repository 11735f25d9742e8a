"""Readers made small for use elsewhere."""

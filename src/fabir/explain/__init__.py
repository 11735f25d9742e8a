"""Explanations of an answer: attention maps and distributions, as numbers and as a page."""

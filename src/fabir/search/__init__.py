"""Answers from a collection: documents, their passages, an index of these, and asking it."""

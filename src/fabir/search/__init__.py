"""Answers from a collection: documents, their passages, the index of the passages, and queries."""

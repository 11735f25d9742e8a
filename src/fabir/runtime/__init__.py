"""Trained models: their folder on disk, and what computes logits from them, in torch or without.

Architectures live in `fabir.readers`; text and answers are the business of `fabir.answer`.
"""

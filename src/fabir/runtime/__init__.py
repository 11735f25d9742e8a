"""Trained models: their folder on disk, and their logits, in torch or in ONNX Runtime.

Architectures live in `fabir.readers`; text and answers are the business of `fabir.answer`.
"""

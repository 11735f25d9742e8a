"""Smaller models, and models for ONNX Runtime."""

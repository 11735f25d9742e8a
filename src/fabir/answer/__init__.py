"""From a model's logits to answers: spans, windows over long texts, and the Predictor.

Networks live in `fabir.readers`, metrics in `fabir.evaluation`.
"""

"""From a reader's logits to answers: spans, windows over long texts, and the Predictor.

Networks live in `fabir.readers`; how good an answer is, is measured in `fabir.evaluation`.
"""

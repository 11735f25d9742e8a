"""How good answers are: the official SQuAD metrics.

Takes datasets and predicted texts; no readers and no decoding live here.
"""

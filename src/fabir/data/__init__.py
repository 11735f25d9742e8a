"""From question files to batches: reading and writing SQuAD, downloading it, features, batches.

No network and no metrics live here.
"""

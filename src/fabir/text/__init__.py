"""Text in: words with their places, word vectors, and vocabularies. Nothing here knows tensors."""

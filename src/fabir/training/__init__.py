"""The one training loop, its schedule, loss and checkpoints. It knows readers only by name."""

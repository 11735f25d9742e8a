"""The one training loop, its schedule, loss and checkpoints. No reader is named here."""

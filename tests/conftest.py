"""Settings every test runs under: few threads, repeatable generated cases, no deadlines."""

import torch
from hypothesis import settings

# More threads make tests of this size slower, and the suite unpredictable on a busy machine.
torch.set_num_threads(1)

# Deadlines fail at random where other work shares the cores.
settings.register_profile("fabir", deadline=None, max_examples=50)
settings.load_profile("fabir")

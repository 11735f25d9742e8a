"""The HTTP service: questions of many clients read together, and a page to ask from."""

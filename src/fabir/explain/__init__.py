"""What a reader looked at: attention and distributions of an answer, on a page of its own."""

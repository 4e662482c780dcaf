"""The fences around commands of the model: what the kernel keeps a command from doing, whatever it was judged to be."""

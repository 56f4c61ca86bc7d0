"""Libraries on arrays: random numbers and functions of neural networks."""

"""What users call that needs both towers: jit, grad, vmap, devices, the command line."""

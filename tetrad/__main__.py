"""`python -m tetrad script.py`: runs programs that import jax on tetrad."""

from tetrad._src.api.run import main

if __name__ == "__main__":
    main()

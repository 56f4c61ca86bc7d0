"""Everything a user can look at: memory, compilations, the stages of a program."""

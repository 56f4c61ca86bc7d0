"""The CPU backend: LLVM text from plans, machine code, threads and memory."""

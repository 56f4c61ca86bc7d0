"""Operations: one class states typing, derivatives, batching and code of each."""

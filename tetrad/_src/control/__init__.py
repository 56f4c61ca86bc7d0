"""Operations that hold jaxprs or functions: calls, checkpoints, custom rules, loops."""

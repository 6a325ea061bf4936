"""The suite ``identity``: one-token answers that tell a model by their frequencies, and a tokenizer by its counts."""

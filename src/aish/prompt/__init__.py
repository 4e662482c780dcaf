"""The layers of the prompt, one module each. `table.py` lists them."""

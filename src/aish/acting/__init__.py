"""The actions of a model: its tools, and the gate that every command must pass before it runs."""

"""What a model may do: its tools, and the gate that every command passes before it runs."""

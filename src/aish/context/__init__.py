"""The context sent to the model: turns, blocks, token counts and eviction."""

"""Ways out of a fence, each a function that returns if it got out and raises if it was stopped."""

"""Values shared by all packages. Uses only the standard library."""

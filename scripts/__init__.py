"""What builds, checks and documents the project, and is not shipped with it."""

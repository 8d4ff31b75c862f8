"""What a connector counts about itself, and the original's MBeans made of it."""

"""What a connector measures about itself, and the original's MBeans made from it."""

"""What a consumer measures about itself, by the names that kafka-python has for it."""

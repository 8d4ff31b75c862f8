"""What a consumer measures about itself, with kafka-python's names."""

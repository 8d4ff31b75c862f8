"""Record sets: the bytes of a Fetch or Produce partition to records and back."""

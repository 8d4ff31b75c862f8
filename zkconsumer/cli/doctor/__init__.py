"""``zkconsumer doctor``: diagnoses a cluster and its groups, and offers repairs."""

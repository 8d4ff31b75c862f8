"""Lands whole topics through Spark, exactly once, and proves it afterwards."""

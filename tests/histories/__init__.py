"""Checks recorded histories: what was written, delivered and committed, by whom and when.

The checker knows logs, groups and offsets, but no client: no module here imports the
package under test. ``docs/testing.md`` describes the format and the anomalies.
"""

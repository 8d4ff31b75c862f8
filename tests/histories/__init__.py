"""A judge of recorded histories: what was written, delivered and committed, by whom and when.

It knows the log, groups and their offsets, and nothing of any client: no module here imports the
package under test. ``docs/testing.md`` describes the format and the anomalies.
"""

"""Notifies targets of groups that get into trouble and out of it (0083).

``troubles`` finds the troubles in the state that the page shows, ``alerts`` decides which of them
last, ``outbox`` holds the undelivered notifications of a target, and ``templates`` writes the
messages. ``notifier`` has the threads, ``targets`` the connections.
"""

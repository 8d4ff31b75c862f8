"""The web pages of a cluster: a watcher, the history, the application and its server.

``state`` holds what pages show, ``watching`` keeps it current, ``history`` stores it, ``app`` and
``serving`` respond to browsers. Needs the extra ``web``.
"""

"""Pages as values: what each shows of a ``ClusterState``. Pure; the app renders what comes out.

Every function takes the state, what was asked for, and the name of what the page is about:

- ``cluster.cluster_page(state, asked)``
- ``topics.topics_page(state, asked)``, ``topic.topic_page(state, asked, name)``
- ``groups.groups_page(state, asked)``, ``group.group_page(state, asked, key, past)``
- ``znodes.znodes_page(asked, key, nodes)`` with what ``web.znodes.look_at`` gave for ``?path=``
- ``plain.login_page(refused=...)``, ``plain.sorry_page(status, sentence)``

and gives a ``view.View``, which ``rendering.render(view, asked, state)`` makes HTML of. What is not
there gives a view whose status is 404. A live page asks for itself again whenever ``/events`` (with
``?group=<kind>/<id>`` on a group's page) sends an event ``state``; its data is not looked at.
"""

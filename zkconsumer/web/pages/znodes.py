"""The page of a group's nodes in ZooKeeper. Pure."""

from collections.abc import Sequence

from zkconsumer.status.model import GroupKey
from zkconsumer.web.pages.view import PageRequest, View, group_address
from zkconsumer.web.znodes import ZnodeView
from zkconsumer.zk.paths import GroupPaths


def znodes_page(page_request: PageRequest, key: GroupKey, nodes: Sequence[ZnodeView]) -> View:
    """Return the page of a node and its children.

    Args:
        page_request: for the URLs of other nodes (``?path=``).
        key: the group.
        nodes: as ``web.znodes.read_nodes`` returns them, at least one.
    """
    node, below = nodes[0], nodes[1:]
    root = GroupPaths(key.group_id).root
    parts = [part for part in node.path.removeprefix(root).split("/") if part]
    crumbs = [(root, page_request.at(path=None))]
    for place, part in enumerate(parts):
        path = "/".join([root, *parts[: place + 1]])
        crumbs.append((part, page_request.at(path=path)))
    return View(
        template="znodes.html",
        title=f"Nodes of {key.group_id}",
        context={
            "key": key,
            "group_page": f"{page_request.root}{group_address(key)}",
            "node": node,
            "crumbs": crumbs,
            "below": [
                (znode, znode.path.rsplit("/", 1)[-1], page_request.at(path=znode.path))
                for znode in below
            ],
        },
        status=404 if node.problem == "there is no such node" else 200,
        live=False,
    )

"""Ranks grouped into nodes, words between nodes costing more than inside. Pure.

Rank r is in node r // ranks.
"""

from __future__ import annotations

import numpy as np

from hpc.io.machine import Numbers
from partition.hypergraph import FREE, Blocks, Hypergraph, Longs


def prices(nodes: int, ranks: int, inter_cost: float) -> Numbers:
    """Return what a word costs by sender and receiver.

    Parameters
    ----------
    nodes, ranks : int
        How many nodes, and ranks in each: P = nodes · ranks.
    inter_cost : float
        Of a word between nodes, in words inside one.

    Returns
    -------
    (P, P) float64 array
        1 inside a node, also from a rank to itself, else `inter_cost`.
    """
    node = np.arange(nodes * ranks) // ranks
    return np.where(node[:, None] == node[None, :], 1.0, inter_cost)


def words_between(links: Longs, ranks: int) -> Longs:
    """Return the words that each rank sends to other nodes.

    Parameters
    ----------
    links : (P, P) int64 array
        Words from sender to receiver.
    ranks : int
        In each node.

    Returns
    -------
    (P,) int64 array
        By sender.
    """
    node = np.arange(len(links)) // ranks
    between: Longs = (links * (node[:, None] != node[None, :])).sum(axis=1)
    return between


def parts_hypergraph(links: Longs) -> Hypergraph:
    """Return the graph of parts, an edge for each pair that exchanges words.

    Parameters
    ----------
    links : (P, P) int64 array
        Words from sender to receiver over all layers.

    Returns
    -------
    Hypergraph
        P free vertices of weight 1; nets of two pins that weigh the words of both directions.
    """
    parts = len(links)
    first, second = np.nonzero(np.triu(links + links.T, 1))
    pins = np.column_stack((first, second)).ravel().astype(np.int32)
    weight = (links + links.T)[first, second]
    ones, free = np.ones(parts, np.int64), np.full(parts, FREE, np.int32)
    return Hypergraph(2 * np.arange(len(first) + 1), pins, ones, weight, free)


def names_in_nodes(node_of: Blocks) -> Blocks:
    """Name parts after ranks: those of node 0 first, and so on.

    Parameters
    ----------
    node_of : (P,) int32 array
        Node of each part; as many parts in each as it has ranks.

    Returns
    -------
    (P,) int32 array
        The rank that each part becomes; in a node, in the order of the parts.
    """
    names = np.empty(len(node_of), np.int32)
    names[np.argsort(node_of, kind="stable")] = np.arange(len(node_of), dtype=np.int32)
    return names

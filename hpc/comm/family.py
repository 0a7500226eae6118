"""A communicator that knows all that were made of it, so that all can be revoked together."""

from __future__ import annotations

from typing import Self, cast

from mpi4py import MPI


class Family(MPI.Intracomm):
    """A communicator and, until they are freed, all that come from it by `Dup` and `Split`.

    What is made of a member is a member too. Made by `of`.
    """

    _members: list[MPI.Intracomm]

    @classmethod
    def of(cls, comm: MPI.Comm) -> Self:
        """Return `comm` as the first of a family; it is the same communicator, not a copy. Local.

        Parameters
        ----------
        comm : MPI.Comm
            An intracommunicator; the member is another handle of it.

        Returns
        -------
        Family
            With itself as the only member.
        """
        return cls(cast(MPI.Intracomm, comm))._join([])

    def _join(self, members: list[MPI.Intracomm]) -> Self:
        self._members = members
        members.append(self)
        return self

    def _child(self, comm: MPI.Comm) -> MPI.Intracomm:
        made = cast(MPI.Intracomm, comm)
        return made if made == MPI.COMM_NULL else type(self)(made)._join(self._members)

    def Dup(self, info: MPI.Info | None = None) -> Self:
        """Return a duplicate. Collective.

        Parameters
        ----------
        info : MPI.Info or None
            Hints for the duplicate; None: none are given.

        Returns
        -------
        Family
            A member of the same family.
        """
        return super().Dup(info)._join(self._members)

    def Split(self, color: int = 0, key: int = 0) -> MPI.Intracomm:
        """Return the communicator of the ranks of the same colour. Collective.

        Parameters
        ----------
        color : int
            Of this rank; MPI.UNDEFINED for none.
        key : int
            By which the ranks of a colour are ordered, then by their ranks here.

        Returns
        -------
        Family or MPI.Intracomm
            A member of the same family; MPI.COMM_NULL for a rank of no colour.
        """
        return self._child(super().Split(color, key))

    def Split_type(
        self, split_type: int, key: int = 0, info: MPI.Info = MPI.INFO_NULL
    ) -> MPI.Intracomm:
        """Return the communicator of the ranks that share something. Collective.

        Parameters
        ----------
        split_type : int
            What is shared: MPI.COMM_TYPE_SHARED for memory.
        key : int
            As `Split`'s.
        info : MPI.Info
            Hints for the split.

        Returns
        -------
        Family or MPI.Intracomm
            A member of the same family; MPI.COMM_NULL for MPI.UNDEFINED.
        """
        return self._child(super().Split_type(split_type, key, info))

    def Free(self) -> None:
        """Free this one. Collective."""
        self._members.remove(self)
        super().Free()

    def revoke(self) -> None:
        """Let every call on any member raise, here and, soon after, on all other ranks. Local."""
        for comm in list(self._members):
            comm.Revoke()

    @property
    def revoked(self) -> bool:
        """Whether any member has been revoked, by any rank."""
        return any(comm.Is_revoked() for comm in self._members)

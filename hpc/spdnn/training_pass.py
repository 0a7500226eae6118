"""Forward and backward for one batch size, over the same levels, all kept."""

from __future__ import annotations

import numpy as np

from hpc.io.shard import Shard
from hpc.spdnn.backward import Backward
from hpc.spdnn.forward import plan_forward
from hpc.spdnn.levels import kept_levels
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.runtime import Runtime


class TrainingPass:
    """Forward and, once asked for, backward for one batch size.

    Parameters
    ----------
    runtime : Runtime
        Its communicator has shard.size ranks.
    shard : Shard
        This rank's share.
    parameters : list of LayerParameters
        Per layer; read at every run.
    batch : int
        Samples, at least 1.

    Attributes
    ----------
    forward : Forward
        Over levels that are all kept.
    slope : (panels, n_out, width) array
        Own rows of δ^L.
    scratch : flat array
        Room for a panel of it.
    backward : Backward or None
        None until `planned_backward`.
    """

    def __init__(
        self, runtime: Runtime, shard: Shard, parameters: list[LayerParameters], batch: int
    ) -> None:
        self._runtime, self._shard, self._parameters = runtime, shard, parameters
        levels = kept_levels(shard, batch, shard.dtype)
        weights = [layer.weights for layer in parameters]
        biases = [layer.bias for layer in parameters]
        self.forward = plan_forward(runtime, shard, weights, biases, levels)
        self.slope = np.zeros_like(levels[-1])
        self.scratch = np.empty(self.slope[0].size, shard.dtype)
        self.backward: Backward | None = None

    def planned_backward(self) -> Backward:
        """Return the backward pass, planned when first asked for.

        Returns
        -------
        Backward
            Over the same levels.
        """
        if self.backward is None:
            self.backward = Backward(
                self._runtime, self._shard, self.forward.levels, self._parameters
            )
        return self.backward

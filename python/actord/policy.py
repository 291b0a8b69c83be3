# SPDX-License-Identifier: LGPL-2.1-or-later
"""A trained policy in NumPy. docs/policies.md explains the tensors."""
from __future__ import annotations

import os
import re
import tempfile

import numpy

from .client import call

# The values of [Learner] Activation=.
ACTIVATIONS = {"tanh": numpy.tanh, "relu": lambda x: numpy.maximum(x, 0), "silu": lambda x: x / (1 + numpy.exp(-x)),
               "mish": lambda x: x * numpy.tanh(numpy.logaddexp(0, x))}


class Policy:
    """The network that acts, without optimiser and replay. It supports neither convolutions nor actions squashed by tanh: export such
policies as tensors or ONNX.

    tensors: name -> array; settings: the job's settings as text, such as settings["Learner.Activation"]. observation: its input, "numbers",
"choice" (a whole number) or "choices" (several whole numbers); a file of an older actord does not say it, and counts as "numbers". choices: if an
action consists of several choices, the number of options of each, such as [2, 3, 5]; otherwise empty."""

    def __init__(self, path: str | os.PathLike[str]):
        try:
            from safetensors import safe_open
        except ImportError as e:  # Debian 12 has no package for it
            raise ImportError("reading a policy needs the Python package safetensors: pip install safetensors, in a virtual environment") from e
        with safe_open(os.fspath(path), "numpy") as file:
            self.settings: dict[str, str] = dict(file.metadata() or {})
            self.tensors: dict[str, numpy.ndarray] = {name: file.get_tensor(name) for name in file.keys()}
        if any(tensor.ndim == 4 for tensor in self.tensors.values()):
            raise ValueError(f"{path}: its policy has convolutions; use actorctl export --format=onnx")
        hidden = [name[:-len(".weight")] for name in self.tensors if re.fullmatch(r"(actor|actor_mean|network)\.\d+\.weight", name)]
        heads = [name for name in ("actor", "actor_mean") if name + ".weight" in self.tensors]
        self._layers = sorted(hidden, key=lambda name: int(name.split(".")[1])) + heads
        if not self._layers:
            raise ValueError(f"{path}: it has no policy of dense layers; docs/policies.md explains its tensors")
        self.observation = self.settings.get("observation", "numbers")
        if self.observation not in ("numbers", "choice", "choices"):
            raise ValueError(f"{path}: its policy reads {self.observation}, which this package does not know; use actorctl export --format=onnx")
        normaliser = ["observation.inverse_sd"] if "observation.mean" in self.tensors else []
        missing = [name for name in [layer + ".bias" for layer in self._layers] + normaliser if name not in self.tensors]
        settings = (["Learner.Activation"] if len(self._layers) > 1 else []) + (["Learner.ObservationClip"] if normaliser else [])
        missing += [name for name in settings if name not in self.settings]
        if missing:
            raise ValueError(f"{path}: it has no {missing[0]}; export the policy again")
        self.choices: list[int] = [int(n) for n in self.settings.get("choices", "").split()]
        self.n_inputs: int = self.tensors[self._layers[0] + ".weight"].shape[1]

    @classmethod
    def of(cls, name: str | int) -> "Policy":
        """The policy of a job (its number), of a run ("r7") or of a checkpoint file."""
        with tempfile.TemporaryDirectory(prefix="actord-") as directory:
            path = os.path.join(directory, "policy.safetensors")
            call("export", "--weights-only", f"--output={path}", "--", str(name))
            return cls(path)

    @property
    def is_discrete(self) -> bool:
        return "actor_logstd" not in self.tensors

    def _inputs(self, observations: numpy.ndarray) -> numpy.ndarray:
        """What the first layer reads, [..., n_inputs]."""
        x = numpy.asarray(observations)
        if self.observation != "numbers":
            several = self.observation == "choices"
            options = self.n_inputs // max(1, x.shape[-1] if several and x.ndim else 1)
            if not numpy.issubdtype(x.dtype, numpy.integer) or x.size and not 0 <= x.min() <= x.max() < options:
                what = "choices: whole numbers" if several else "a choice: a whole number"
                raise ValueError(f"the policy reads {what} from 0 to {options - 1} for each row")
            inputs = numpy.zeros((*x.shape, options), dtype=numpy.float32)
            numpy.put_along_axis(inputs, x[..., None], 1, axis=-1)
            return inputs.reshape(*x.shape[:-1], -1) if several else inputs
        if x.shape[-1:] != (self.n_inputs,):
            raise ValueError(f"observations of shape {x.shape}: the policy reads {self.n_inputs} numbers a row; flatten each observation")
        return x.astype(numpy.float32)

    def __call__(self, observations: numpy.ndarray) -> numpy.ndarray:
        """observations: [rows, n_inputs] or [n_inputs], an image flat and unscaled; for a policy that reads a choice [rows] or one number.
ValueError: they have another shape. Returns logits or action values of each action, or the mean of each action: [rows, actions] or [actions]."""
        x = self._inputs(observations)
        if "observation.mean" in self.tensors:
            clip = float(self.settings["Learner.ObservationClip"]) or numpy.inf
            x = numpy.clip((x - self.tensors["observation.mean"]) * self.tensors["observation.inverse_sd"], -clip, clip)
        for name in self._layers:
            x = x @ self.tensors[name + ".weight"].T + self.tensors[name + ".bias"]
            if name != self._layers[-1]:
                x = ACTIVATIONS[self.settings["Learner.Activation"]](x)
        return x

    def act(self, observations: numpy.ndarray) -> numpy.ndarray:
        """Returns the action that `actorctl eval` takes by default: the most likely one (of several choices at once, one number each); or the mean,
which the caller clips to the action's bounds."""
        outputs = self(observations)
        if self.choices:
            ends = numpy.cumsum(self.choices)[:-1]
            return numpy.stack([numpy.argmax(part, axis=-1) for part in numpy.split(outputs, ends, axis=-1)], axis=-1)
        return numpy.argmax(outputs, axis=-1) if self.is_discrete else outputs

"""C models' policy and value networks as one: weights stacked along a first axis, gradients in closed form, Adam.

All parameters of a stack lie in one flat buffer, block after block; a block is [C, in, out] of one layer. Its rows are
padded to a multiple of 16 numbers (64 bytes), so that each model's matrices are aligned alike wherever in the stack it
is: its bits do not depend on its place, nor on who is beside it. Padding stays exactly 0.

The first layers of both networks read the same observation, so they are one layer of twice the width; its bias is the
weight of an observation column that is always 1.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn

from negzoo.learn.network import Actor, Critic, Interface

_ALIGN = 16
_NEVER = -1e9
"""The logit of padding: its probability is exactly 0."""


def padded(width: int) -> int:
    """The next multiple of 16."""
    return -(-width // _ALIGN) * _ALIGN


@dataclass(frozen=True)
class Block:
    """One block of the flat buffer: where a [size, in, out] tensor begins."""

    name: str
    offset: int
    shape: tuple[int, ...]

    def of(self, flat: Tensor) -> Tensor:
        """Its view of a flat buffer."""
        return torch.as_strided(flat, self.shape, _strides(self.shape), self.offset)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * size)
    return tuple(reversed(strides))


@dataclass(frozen=True)
class ModelState:
    """One model: its weights and Adam's moments, each by the names of `Actor` and `Critic`."""

    weights: dict[str, Tensor]
    mean: dict[str, Tensor]
    square: dict[str, Tensor]

    @classmethod
    def fresh(cls, weights: dict[str, Tensor]) -> "ModelState":
        """Weights with an optimiser that has not begun."""
        return cls(weights, *({name: torch.zeros_like(value) for name, value in weights.items()} for _ in range(2)))


@dataclass(frozen=True)
class Activations:
    """What a forward pass computed.

    Attributes:
        observation: [C, B, inputs], padded, with the column of ones.
        first: [C, B, 2 * width], the first hidden layer of both networks side by side.
        policy, value: the hidden layers after the first, of each network.
        logits: [C, B, logits], padded.
        values: [C, B].
    """

    observation: Tensor
    first: Tensor
    policy: tuple[Tensor, ...]
    value: tuple[Tensor, ...]
    logits: Tensor
    values: Tensor


class Stack(nn.Module):
    """The networks, gradients and optimiser state of C models.

    Args:
        interface: what the networks read and answer.
        hidden: widths of the hidden layers of each network; at least one.
        size: C.
        device: where the tensors are.
    """

    theta: Tensor
    mean: Tensor
    square: Tensor
    updates: Tensor

    def __init__(self, interface: Interface, hidden: tuple[int, ...], size: int, device: torch.device) -> None:
        super().__init__()
        self.interface, self.hidden, self.size, self.device = interface, hidden, size, device
        self.inputs, self.outputs = padded(interface.length + 1), padded(interface.logits)
        self.widths = tuple(padded(width) for width in hidden)
        self.blocks = self._lay_out()
        length = sum(_size(block.shape) for block in self.blocks)
        for name in ("theta", "mean", "square"):
            self.register_buffer(name, torch.zeros(length, device=device))
        self.register_buffer("updates", torch.zeros((), device=device))
        self.gradient = torch.zeros(length, device=device)
        self._bind()

    def _lay_out(self) -> tuple[Block, ...]:
        shapes: list[tuple[str, tuple[int, ...]]] = [("first", (self.inputs, 2 * self.widths[0]))]
        for network in ("actor", "critic"):
            for i, (before, width) in enumerate(pairwise(self.widths), 1):
                shapes += [(f"{network}.{i}.weight", (before, width)), (f"{network}.{i}.bias", (1, width))]
        shapes += [("actor.out.weight", (self.widths[-1], self.outputs)), ("actor.out.bias", (1, self.outputs))]
        shapes += [("critic.out.weight", (1, self.widths[-1])), ("critic.out.bias", (1, _ALIGN))]
        blocks, offset = [], 0
        for name, shape in shapes:
            blocks.append(Block(name, offset, (self.size, *shape)))
            offset += _size(blocks[-1].shape)
        return tuple(blocks)

    def _bind(self) -> None:
        """The blocks' views of weights and gradients, by name."""
        self.weight = {block.name: block.of(self.theta) for block in self.blocks}
        self.slope = {block.name: block.of(self.gradient) for block in self.blocks}

    def put(self, model: int, state: ModelState) -> None:
        """Give one model its weights and its optimiser's moments."""
        for flat, tensors in ((self.theta, state.weights), (self.mean, state.mean), (self.square, state.square)):
            for block in self.blocks:
                block.of(flat)[model] = 0
            for view, value in self._views(flat, model, tensors):
                view.copy_(value)
        self.weight["actor.out.bias"][model, 0, self.interface.logits :] = _NEVER

    def get(self, model: int) -> ModelState:
        """A copy of one model's weights and moments, on the CPU."""
        states = []
        for flat in (self.theta, self.mean, self.square):
            tensors = {name: torch.empty(shape) for name, shape in self._shapes()}
            for view, value in self._views(flat, model, tensors):
                value.copy_(view)
            states.append(tensors)
        return ModelState(*states)

    def _shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """The tensors of `Actor` and `Critic`, by name."""
        shapes: list[tuple[str, tuple[int, ...]]] = []
        for network, outputs in (("actor", self.interface.logits), ("critic", 1)):
            widths = (self.interface.length, *self.hidden, outputs)
            for i, (before, after) in enumerate(pairwise(widths)):
                shapes += [
                    (f"{network}.body.{2 * i}.weight", (after, before)),
                    (f"{network}.body.{2 * i}.bias", (after,)),
                ]
        return shapes

    def _views(self, flat: Tensor, model: int, tensors: dict[str, Tensor]) -> list[tuple[Tensor, Tensor]]:
        """Pairs of where a tensor lies in a flat buffer, and the tensor as it lies there."""
        views = {block.name: block.of(flat)[model] for block in self.blocks}
        pairs = []
        for place, network in enumerate(("actor", "critic")):
            for i in range(len(self.hidden) + 1):
                weight = tensors[f"{network}.body.{2 * i}.weight"].T
                bias = tensors[f"{network}.body.{2 * i}.bias"]
                rows, columns = weight.shape
                room, under = self._places(views, network, place, i)
                pairs += [(room[:rows, :columns], weight), (under[:columns], bias)]
        return pairs

    def _places(self, views: dict[str, Tensor], network: str, place: int, layer: int) -> tuple[Tensor, Tensor]:
        """Where the weight and the bias of a layer lie."""
        if layer == 0:
            first = views["first"][:, place * self.widths[0] :]
            return first, first[self.interface.length]
        name = f"{network}.{'out' if layer == len(self.hidden) else layer}"
        weight = views[f"{name}.weight"]
        return weight.T if name == "critic.out" else weight, views[f"{name}.bias"][0]

    def pad(self, observations: Tensor) -> Tensor:
        """[..., length] as the first layer reads it: padded, with the column of ones."""
        out = torch.zeros((*observations.shape[:-1], self.inputs), device=self.device)
        out[..., : self.interface.length] = observations
        out[..., self.interface.length] = 1
        return out

    def forward(self, observation: Tensor) -> Activations:
        """Logits and values of padded observations [C, B, inputs]; illegal actions are not masked yet."""
        first = torch.bmm(observation, self.weight["first"]).tanh_()
        policy = self._hidden("actor", first[..., : self.widths[0]])
        value = self._hidden("critic", first[..., self.widths[0] :])
        logits = torch.baddbmm(self.weight["actor.out.bias"], policy[-1], self.weight["actor.out.weight"])
        values = (value[-1] * self.weight["critic.out.weight"]).sum(2) + self.weight["critic.out.bias"][:, 0, :1]
        return Activations(observation, first, policy, value, logits, values)

    def _hidden(self, network: str, layer: Tensor) -> tuple[Tensor, ...]:
        layers = [layer]
        for i in range(1, len(self.widths)):
            layer = torch.baddbmm(self.weight[f"{network}.{i}.bias"], layer, self.weight[f"{network}.{i}.weight"])
            layers.append(layer.tanh_())
        return tuple(layers)

    def backward(self, seen: Activations, logits: Tensor, values: Tensor) -> None:
        """Fill `gradient` from the loss's slopes at the logits [C, B, logits] and at the values [C, B]."""
        torch.bmm(seen.policy[-1].mT, logits, out=self.slope["actor.out.weight"])
        torch.sum(logits, 1, keepdim=True, out=self.slope["actor.out.bias"])
        policy = torch.bmm(logits, self.weight["actor.out.weight"].mT)
        torch.sum(seen.value[-1] * values[..., None], 1, keepdim=True, out=self.slope["critic.out.weight"])
        self.slope["critic.out.bias"][:, 0, 0] = values.sum(1)
        value = values[..., None] * self.weight["critic.out.weight"]
        first = torch.empty_like(seen.first)
        self._backward_hidden("actor", seen.policy, policy, first[..., : self.widths[0]])
        self._backward_hidden("critic", seen.value, value, first[..., self.widths[0] :])
        torch.bmm(seen.observation.mT, first, out=self.slope["first"])

    def _backward_hidden(self, network: str, layers: tuple[Tensor, ...], slope: Tensor, first: Tensor) -> None:
        """From the slope at the last hidden layer down; the slope before the first layer's tanh goes into `first`."""
        for i in range(len(self.widths) - 1, 0, -1):
            inner = torch.ops.aten.tanh_backward(slope, layers[i])
            torch.bmm(layers[i - 1].mT, inner, out=self.slope[f"{network}.{i}.weight"])
            torch.sum(inner, 1, keepdim=True, out=self.slope[f"{network}.{i}.bias"])
            slope = torch.bmm(inner, self.weight[f"{network}.{i}.weight"].mT)
        torch.ops.aten.tanh_backward.grad_input(slope, layers[0], grad_input=first)

    def clip(self, most: float) -> None:
        """Scale each model's gradient down to the norm `most`, as torch's clip_grad_norm_ does."""
        norms = torch.stack([torch.linalg.vector_norm(slope, dim=(1, 2)) for slope in self.slope.values()])
        scale = (most / (torch.linalg.vector_norm(norms, dim=0) + 1e-6)).clamp_(max=1.0)
        for slope in self.slope.values():
            slope.mul_(scale[:, None, None])

    def adam(self, rate: float, epsilon: float) -> None:
        """One step of Adam (β 0.9, 0.999) for all models."""
        self.updates += 1
        torch._fused_adam_(
            [self.theta],
            [self.gradient],
            [self.mean],
            [self.square],
            [],
            [self.updates],
            lr=rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=epsilon,
            amsgrad=False,
            maximize=False,
        )


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size


def fresh_weights(interface: Interface, hidden: tuple[int, ...]) -> dict[str, Tensor]:
    """Weights of new networks, drawn from torch's global generator."""
    networks = {"actor": Actor(interface, hidden), "critic": Critic(interface, hidden)}
    return {f"{name}.{key}": value for name, network in networks.items() for key, value in network.state_dict().items()}

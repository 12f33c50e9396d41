"""Networks of the construction task: what they tell apart, what they share, and how policies are handed over."""

import numpy as np
import torch

from papers.sibling_rivalry.construction.networks import BuildPolicy, Cuboids
from papers.sibling_rivalry.construction.task import make_build

PLAIN = make_build("VoxelBuildSmall", size=5, sides=(3, 4))
SEEING = make_build("VoxelBuildSmall", (8, 12), size=5, sides=(3, 4))


def seen(task, n=3, steps=12):
    rng = np.random.default_rng(0)
    states = task.starts(n, rng)
    for _ in range(steps):
        states = task.step(states, rng.integers(21, size=n))
    return task.observe(states), task.goals(n, rng)


def test_every_part_of_what_is_seen_matters():
    """A changed cell, material, mark, pose, goal or anti-goal changes the outcome; each alone."""
    torch.manual_seed(0)
    critic = Cuboids(PLAIN, 2, 1)
    observations, goals = map(torch.from_numpy, seen(PLAIN, 1))
    anti_goals = goals.roll(7, 1)
    before = critic(observations, goals, anti_goals).item()
    for part in ("build", "marks", "pose"):
        changed = observations.clone()
        at = PLAIN.parts[part].start + 3
        changed[0, at] = 3.0 - changed[0, at]
        assert critic(changed, goals, anti_goals).item() != before, part
    for other in (1.0, 2.0):  # that a material is there, and which one
        changed = goals.clone()
        changed[0, 11] = 3.0 if goals[0, 11] == other else other
        assert critic(observations, changed, anti_goals).item() != before
        assert critic(observations, goals, changed).item() != before
    assert critic(observations, anti_goals, goals).item() != before


def test_a_cell_is_where_it_is():
    """The first convolution sees the cell (x, y, z) of the build at (x, y), and its layers as planes of their own."""
    critic = Cuboids(PLAIN, 1, 1)
    inputs = []
    critic.convolutions.register_forward_pre_hook(lambda module, args: inputs.append(args[0]))
    observations = torch.zeros(1, *PLAIN.observation_shape)
    z, y, x, material = 1, 3, 2, 2
    observations[0, (z * 5 + y) * 5 + x] = material
    critic(observations, torch.zeros(1, PLAIN.cells))
    [[plane, row, column]] = inputs[0][0].nonzero().tolist()
    assert (plane, row, column) == (3 * z + material - 1, y, x)


def test_the_eye_is_shared_and_looks():
    torch.manual_seed(0)
    policy, critic = BuildPolicy(SEEING), Cuboids(SEEING, 1, 1)
    observations, goals = map(torch.from_numpy, seen(SEEING))
    features = policy.see(observations)
    loss = policy.log_probs(observations, goals, features)[:, 0].sum()
    for part in (loss, critic(observations, goals, seen=features).sum()):
        gradients = torch.autograd.grad(part, policy.eye.parameters(), retain_graph=True)
        assert all(gradient.abs().max() > 0 for gradient in gradients)
    darker = observations.clone()
    darker[:, SEEING.parts["picture"]] /= 2
    assert not torch.equal(policy.log_probs(darker, goals, policy.see(darker))[:, 0], loss)
    assert BuildPolicy(PLAIN).eye is None and not any(
        "eye" in name for name in dict(critic.named_modules()) if "." in name
    )


def test_a_policy_with_the_weights_of_another_is_the_other():
    torch.manual_seed(0)
    one, other = BuildPolicy(SEEING), BuildPolicy(SEEING)
    observations, goals = seen(SEEING)
    first = one.act(observations, goals, np.random.default_rng(1))
    assert not np.array_equal(other.act(observations, goals, np.random.default_rng(1))[1], first[1])
    weights = one.weights()
    other.load(weights)
    second = other.act(observations, goals, np.random.default_rng(1))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    weights[:] = 0.0
    np.testing.assert_array_equal(other.weights(), one.weights())  # a copy


def test_actions_are_draws_from_the_policy():
    torch.manual_seed(0)
    policy = BuildPolicy(PLAIN)
    with torch.no_grad():
        policy.body.out.weight *= 20
    observations, goals = (np.repeat(array[:1], 20_000, axis=0) for array in seen(PLAIN))
    actions, log_probs = policy.act(observations, goals, np.random.default_rng(0))
    with torch.no_grad():
        inputs = torch.from_numpy(observations[:1]), torch.from_numpy(goals[:1])
        probabilities = policy.log_probs(*inputs, None).exp().numpy()[0]
    shares = np.bincount(actions, minlength=21) / len(actions)
    np.testing.assert_allclose(shares, probabilities, atol=5 * 0.5 / np.sqrt(len(actions)))
    assert probabilities.max() > 0.2
    np.testing.assert_allclose(np.exp(log_probs), probabilities[actions], rtol=1e-4)

"""QuantizedSequential on a GPU: the CPU's bits forward, its gradients within bfloat16; CUDA graphs; no wait for the GPU."""
import copy
import random
import unittest

from on_cuda import CASES, SEED, needs_gpu, torch

import chain_maker
import qsim.torch as qt

nn = torch.nn


def small_chain():
    torch.manual_seed(SEED)
    chain = qt.QuantizedSequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        qt.Residual([nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16)]), nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(16, 10)).cuda()
    return chain


def step(chain, x):
    """y, and the parameters' gradients."""
    chain.zero_grad(set_to_none=True)
    y = chain(x)
    (y * torch.linspace(-1, 1, y.numel(), device=y.device).view_as(y)).sum().backward()
    return y.detach(), [parameter.grad for parameter in chain.parameters()]


@needs_gpu
class OnGpu(unittest.TestCase):
    def test_forward_has_the_cpus_bits_and_gradients_are_close(self):
        torch.manual_seed(SEED)
        far = []
        for case in range(max(CASES // 10, 3)):
            draw = random.Random(SEED + case)
            torch.manual_seed(SEED + case)
            maker, options = chain_maker.Maker(draw, dropout=False), chain_maker.options_of(draw)
            here = qt.QuantizedSequential(*maker.layers(), **options)
            there = copy.deepcopy(here).cuda()
            with self.subTest(seed=SEED + case, layers=str(here), **options):
                for factor in (1.0, 1.5, 0.5):
                    x = factor * torch.randn(3, *maker.input_shape)
                    y, gradients = step(here, x)
                    found, others = step(there, x.cuda())
                    self.assertTrue(torch.equal(found.cpu(), y))
                    for one, other in zip(here.buffers(), there.buffers()):
                        self.assertTrue(torch.equal(other.cpu(), one))
                    far += chain_maker.distances(gradients, [other.cpu() for other in others])
                self.assertTrue(torch.equal(there.eval()(x.cuda()).cpu(), here.eval()(x)))
        self.assertLess(max(far), 0.2)
        self.assertLess(sum(far) / len(far), 0.01)

    def test_no_step_after_the_first_waits_for_the_gpu(self):
        chain, x = small_chain(), torch.randn(8, 3, 16, 16).cuda()
        step(chain, x)
        chain.zero_grad(set_to_none=True)
        dy = torch.randn(8, 10).cuda()
        torch.cuda.set_sync_debug_mode("error")
        try:
            chain(x).backward(dy)
        finally:
            torch.cuda.set_sync_debug_mode("default")

    def test_a_step_is_deterministic_and_runs_in_a_cuda_graph(self):
        chain, x = small_chain(), torch.randn(8, 3, 16, 16).cuda()
        chain[8].p = 0.0  # graphs and eager steps draw other random numbers
        for _ in range(2):
            step(chain, x)
        eager, again = copy.deepcopy(chain), copy.deepcopy(chain)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            step(copy.deepcopy(chain), x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y, gradients = step(chain, x)
        for other in (2 * x, -x):
            expected, wanted = step(eager, other)
            repeated, same = step(again, other)
            x.copy_(other)
            graph.replay()
            for one, two, three in zip([y, *gradients, *chain.buffers()], [expected, *wanted, *eager.buffers()],
                                       [repeated, *same, *again.buffers()]):
                self.assertTrue(torch.equal(one, two))
                self.assertTrue(torch.equal(two, three))


if __name__ == "__main__":
    unittest.main()

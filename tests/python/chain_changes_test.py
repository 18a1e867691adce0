"""What may be done to a QuantizedSequential after it was made: states of chains with other options, and what is refused."""
import copy
import unittest

import torch

import qsim
import qsim.torch as qt
from chain_module_test import layers, pictures

nn = torch.nn
OPTIONS = ({}, {"zero_points": True}, {"scale": "power_of_two"}, {"input_scale": 0.5}, {"observer": "min_max"},
           {"observer": "last", "zero_points": True})


def chain_of(options):
    return qt.QuantizedSequential(*layers(), **options)


class Changes(unittest.TestCase):
    def test_a_state_keeps_the_bits_of_its_own_options(self):
        for options in OPTIONS:
            with self.subTest(options=options):
                one, other = chain_of(options), chain_of(options)
                for seed in range(3):
                    one(pictures(seed=seed))
                other.load_state_dict(copy.deepcopy(one.state_dict()))
                self.assertTrue(torch.equal(other.levels_scale, one.levels_scale))
                self.assertTrue(torch.equal(other.eval()(pictures()), one.eval()(pictures())))

    def test_a_state_of_other_options_gives_the_scales_of_its_ranges_and_keeps_the_options(self):
        known = chain_of({})
        for seed in range(3):
            known(pictures(seed=seed))
        for options in OPTIONS[1:4]:
            with self.subTest(options=options):
                chain = chain_of(options)
                spans = chain._spans.clone()
                chain.load_state_dict(known.state_dict())
                most = known.levels_state[1:, :2].abs().max(1).values / spans[1:]
                if options.get("scale") == "power_of_two":
                    self.assertTrue((chain.levels_scale[1:] >= most).all() and (chain.levels_scale[1:] < 2 * most).all())
                    self.assertTrue((torch.frexp(chain.levels_scale[1:]).mantissa == 0.5).all())
                else:
                    self.assertTrue(torch.equal(chain.levels_scale[1:], most))
                expected = options.get("input_scale", known.levels_scale[0].item())
                self.assertEqual(chain.levels_scale[0].item(), expected)

    def test_a_layer_in_two_places_computes_in_both(self):
        relu, conv = nn.ReLU(), nn.Conv2d(3, 3, 1)
        places = (conv, relu, nn.Conv2d(3, 3, 1), relu, conv)
        for given in (places, (nn.Sequential(*places),)):
            shared = qt.QuantizedSequential(*given)
            single = qt.QuantizedSequential(*copy.deepcopy(nn.Sequential(*places[:2])), copy.deepcopy(places[2]), nn.ReLU(),
                                            copy.deepcopy(conv))
            self.assertEqual(len(shared._plan.steps), 3)
            self.assertTrue(torch.equal(shared(pictures()), single(pictures())))
            shared(pictures()).sum().backward()
            single(pictures()).sum().backward()
            self.assertTrue(torch.equal(conv.weight.grad, single[0].weight.grad + single[4].weight.grad))
            conv.weight.grad = None

    def test_its_layers_cannot_be_changed(self):
        chain = chain_of({})
        changes = (lambda: chain.append(nn.ReLU()), lambda: chain.add_module("more", nn.ReLU()),
                   lambda: chain.insert(0, nn.ReLU()), lambda: chain.extend([nn.ReLU()]),
                   lambda: chain.__setitem__(0, nn.Conv2d(3, 8, 3)), lambda: chain.__delitem__(0),
                   lambda: setattr(chain, "0", nn.Conv2d(3, 8, 3)))
        before = list(chain.state_dict())
        for change in changes:
            with self.assertRaisesRegex(qsim.BadInput, "its layers cannot be changed; make a new QuantizedSequential of them"):
                change()
        self.assertEqual(list(chain.state_dict()), before)
        with self.assertRaisesRegex(qsim.BadInput, "a part of a chain has no scales of its own"):
            chain[:2]
        self.assertIsInstance(chain[0], nn.Conv2d)

    def test_messages_name_the_layer_and_what_is_allowed(self):
        x = pictures()
        for call, message in (
                (lambda: qt.QuantizedConv2d(3, 4, 3, weight_bit=4), "'weight_bit' is no option of a quantized layer; allowed: bits, "),
                (lambda: qt.QuantizedConv2d(3, 4, 3)(x.double()), "QuantizedConv2d: x is torch.float64, its weights torch.float32; "),
                (lambda: qt.QuantizedLinear(8, 4).double()(x), "QuantizedLinear: x is torch.float32, its weights torch.float64; "),
                (lambda: qt.QuantizedConv2d(3, 4, 3, scale=True), "scale is True; allowed: float, "),
                (lambda: qt.QuantizedConv2d(3, 4, 3, scale=None), "scale is None; allowed: float, "),
                (lambda: qt.QuantizedConv2d(3, 4, 3, momentum="a"), "momentum is a; allowed: above 0, to 1"),
                (lambda: chain_of({"input_scale": "0.1"}), "input_scale is 0.1; allowed: 2"),
                (lambda: chain_of({})(x[:, :2]), "QuantizedSequential: layer 0 reads 3 channels; its input has 2")):
            with self.assertRaisesRegex(qsim.BadInput, message):
                call()

    def test_what_a_chain_would_not_do_is_refused(self):
        with self.assertRaisesRegex(qsim.Unsupported, "is a chain inside a chain"):
            qt.QuantizedSequential(chain_of({}), nn.ReLU())
        chain = chain_of({})
        handle = chain[0].register_forward_hook(lambda *_: None)
        with self.assertRaisesRegex(qsim.Unsupported, "a Conv2d has a hook, which a chain does not call"):
            chain(pictures())
        handle.remove()
        chain(pictures())
        with self.assertRaisesRegex(qsim.Unsupported, "DataParallel does not divide a chain"):
            chain._replicate_for_data_parallel()


if __name__ == "__main__":
    unittest.main()

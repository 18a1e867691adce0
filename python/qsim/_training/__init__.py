"""Training on the accelerator's integers: qsim.torch's layers, their options, observers and float twins."""

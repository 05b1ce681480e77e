"""Benchmarks in and out: import and export in the layouts of VNN-COMP, seal and unseal."""

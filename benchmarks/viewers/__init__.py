# SPDX-License-Identifier: Apache-2.0
"""The parts of the reading benchmark: work sets, the programs that open them, and one module per case."""

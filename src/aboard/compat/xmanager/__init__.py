# SPDX-License-Identifier: Apache-2.0
"""XManager's `xm`, `xm_local` and `contrib.tensorboard` on top of aboard's jobs: only import lines change."""

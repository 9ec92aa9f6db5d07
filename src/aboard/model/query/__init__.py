# SPDX-License-Identifier: Apache-2.0
"""The language of filters: `hparams.lr < 0.01 and status == "running" and metrics.val_loss.min < 0.2`.

`parser.parse_query` makes a `tree`; `evaluate.matches` answers it for one run, the catalog for all.
"""

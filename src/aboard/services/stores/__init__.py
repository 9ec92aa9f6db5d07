# SPDX-License-Identifier: Apache-2.0
"""Following stores: new and changed runs go into the catalog, and jobs are reconciled with their runs."""

# SPDX-License-Identifier: Apache-2.0
"""Values and rules without I/O, for every part of aboard. They import only each other and the errors."""

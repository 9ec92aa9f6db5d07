# SPDX-License-Identifier: Apache-2.0
"""`python -m aboard`: the command `aboard` of this very interpreter."""

from aboard.cli import main

if __name__ == "__main__":
    main()

# Protobuf makes the names of this module when it is imported.
from typing import Any

def __getattr__(name: str) -> Any: ...

"""The gradient doctor, which names the mistake behind a wrong gradient."""

"""The gradient doctor, which names the mistake behind a wrong gradient, and the judge of the chapters' exercises."""

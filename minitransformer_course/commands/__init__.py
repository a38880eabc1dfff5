"""The course's commands: minitransformer finds them by their entry points."""

"""Pictures."""


def loss_curve(records, path):
    """Draw the training loss and the validation loss (per token) of metrics.jsonl's `records` over the steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for key, label in (("loss", "training"), ("valid_loss", "validation")):
        points = [(record["step"], record[key]) for record in records if key in record]
        if points:
            axes.plot(*zip(*points), label=label, marker="o" if len(points) < 2 else None)
    axes.set_xlabel("step")
    axes.set_ylabel("loss per token (nats)")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)

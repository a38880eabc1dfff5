"""Text shared by the tables of minitransformer benchmark."""

MUCH_OTHER_WORK = 0.1    # cores


def memory(numbers) -> str:
    return f"{numbers['peak_memory_bytes'] / 1e6:9,.0f} MB"


def warn_of_other_work(result) -> None:
    if (result["other_work"] or 0) > MUCH_OTHER_WORK:
        print(f"{'':6} other programs kept {result['other_work']:.1f} cores busy meanwhile: measure again without "
              "them", flush=True)

"""What runs instead inside `fast()`, and who shares the work: kernels, threads, processes, MPI."""

"""What is read: the paper in one file, the chapters and their exercises. Installed as minitransformer_course.chapters."""

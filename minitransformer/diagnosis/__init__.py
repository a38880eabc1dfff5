"""What names a mistake: the gradient doctor, and the judge of the course."""

"""What is wrong with a gradient, or with an answer: the parts that the doctor and the judge share."""

"""The half of the corpus that the doctor was not made with. Do not read it if you are going to improve the doctor."""

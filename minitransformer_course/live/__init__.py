"""What the pages of the site run: a reader's file with its gradient checks, and the cells of a
chapter. None of it knows that it is in a browser.
"""

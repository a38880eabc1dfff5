"""What the library's claims rest on: its speed beside others', and training runs that answer a
question.
"""

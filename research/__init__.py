"""What the library's claims rest on: its speed beside others', training runs that answer a
question, the mistakes that the doctor must name, and those that people wrote who had not read it.
"""

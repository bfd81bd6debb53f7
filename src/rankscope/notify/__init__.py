"""Messages to people when something has happened: by a command, a webhook or e-mail, behind one small interface.

Only this package sends anything to anybody; what a message says is decided by `experiment/alerts.py`.
"""

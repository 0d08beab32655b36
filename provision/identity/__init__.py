"""Accounts and users declared in documents, for operators: compared with nsc's folders and written there."""

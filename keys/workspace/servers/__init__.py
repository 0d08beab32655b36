"""The servers of an operator: comparing, sending and fetching the accounts that they hold.

Functions here are asynchronous; over NATS they connect as a user of the system account.
"""

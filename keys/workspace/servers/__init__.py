"""The servers of an operator: what they hold of its accounts, sent to them, fetched from them, compared.

Functions here are asynchronous; over NATS they speak as a user of the system account.
"""

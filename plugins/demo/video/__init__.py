"""`pyjs demo video`: "Persistence at the Edge" on nine servers of your own, played and checked.

A hub and two spokes, each a cluster of three servers and a JetStream domain, joined by leaf connections; the
video's eight chapters with its command lines, its questions and its reports, and a result for each thing it
says or shows.
"""

"""`pyjs demo video`: "Persistence at the Edge" on nine servers of your own, run and checked.

A hub and two spokes, each a cluster of three servers and a JetStream domain, are joined by leaf connections.
The demo plays the video's eight chapters with their command lines, questions and reports, and gives a result
for each thing that the video says or shows.
"""

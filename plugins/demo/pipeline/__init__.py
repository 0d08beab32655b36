"""`pyjs demo pipeline`: orders taken at two leafs, gathered in the hub, counted by Spark.

`network`: the configurations and streams. `shops`: the orders, and what they must add up to. `job`: the Spark
program, shown and run as it stands. `results`: what it has left, read without Spark. `play`: the chapters.
"""

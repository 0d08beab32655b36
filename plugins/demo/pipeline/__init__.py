"""`pyjs demo pipeline`: orders taken at two leafs, gathered in the hub, counted by Spark.

`network`: the configurations and streams.
`shops`: the orders, and what they must add up to.
`job`: the Spark program, shown and run unchanged.
`results`: what the program has written, read without Spark.
`play`: the chapters.
"""

"""How hidden a counterexample is: a battery of attacks with a stated budget.

One module of `methods` an attack; each declares ATTACK. `battery` runs them on a question, `table`
reads what `assay attack` wrote about a benchmark.
"""

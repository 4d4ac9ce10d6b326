"""Works out formulas of numbers, and nothing else."""

import ast
import operator
import os
import time

KNOWN = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def work_out(cell):
    return value(ast.parse(cell.lstrip("="), mode="eval").body)


def value(node):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp) and type(node.op) in KNOWN:
        return KNOWN[type(node.op)](value(node.left), value(node.right))
    raise ValueError("this is no formula of numbers")


def cached(folder, name):
    path = os.path.join(folder, os.path.basename(name))
    with open(path) as file:
        return file.read()


def watch(path):
    while True:
        print(work_out(cached(".", path)))
        time.sleep(5)

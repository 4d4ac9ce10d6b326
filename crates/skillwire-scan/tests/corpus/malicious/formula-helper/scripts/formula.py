"""Works out formulas."""


def work_out(cell):
    text = cell.lstrip("=").replace("^", "**")
    return eval(text)


if __name__ == "__main__":
    print(work_out("=2+2"))

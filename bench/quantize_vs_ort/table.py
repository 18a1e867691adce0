"""The results of compare.py as Markdown: a table of rows, one of times, and what they add up to."""
KINDS = {"same": "the same scheme", "search": "MSE search", "bias": "bias correction",
         "scales": "the accelerator's scales"}


def witness(side, other):
    """Whether the other side gives the same bytes of a file."""
    if other not in side:
        return ""
    if "refused" in side[other]:
        return "refused"
    return f"{side[other]['differ']:,} differ" if side[other]["differ"] else "equal"


def line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def scheme(result):
    """ONNX Runtime's way and, of rows with options of qsim alone, these."""
    name = result["name"].split(": ")[1]
    if result["kind"] == "same":
        return name
    words = result["options"]
    own = [word for word in ("--weight-clipping", "--bias-correction") if word in words]
    own.insert(0, "--clipping " + words[words.index("--clipping") + 1])
    if "--weight-clipping" in own:
        own[own.index("--weight-clipping")] += " mse"
    if "--scale-kind" in words:
        own.append("--scale-kind " + words[words.index("--scale-kind") + 1])
    best = result["theirs"].get("way", "").split(" ")[0]
    return f"{name} ({best}); `{' '.join(own)}`"


def row(result):
    ours, theirs = result["ours"], result["theirs"]
    counts = [ours.get("right", "refused"), theirs.get("right", "refused")]
    judged = ["", "", "", ""]
    if "p" in result:
        judged = [result["ours_only"], result["theirs_only"], "< 1e-9" if result["p"] < 1e-9 else f"{result['p']:.2g}", result["verdict"]]
    return line([scheme(result), *(f"{count:,}" if isinstance(count, int) else count for count in counts), *judged,
                 witness(ours, "in_onnxruntime"), witness(theirs, "in_qsim")])


def rows_of(network, results):
    head = ["scheme", "qsim right", "ONNX Runtime right", "qsim alone", "ONNX Runtime alone", "p", "qsim is",
            "our file in ONNX Runtime", "its file in qsim"]
    return [line(head), line(["---"] * len(head)), *(row(each) for each in results if each["network"] == network)]


def times_of(results):
    """Processor seconds, of the rows in which ONNX Runtime calibrated as well."""
    head = ["network", "method", "`qsim quantize`", "of which comparing all layers", "`quantize_static`", "ratio"]
    lines = [line(head), line(["---"] * len(head))]
    for each in results:
        theirs = each["theirs"].get("seconds")
        if each["kind"] != "same" or theirs is None or "right" not in each["ours"]:
            continue
        _, used, measuring = each["ours"]["seconds"]
        lines.append(line([each["network"], each["theirs"]["way"].split()[0], f"{used:.1f} s",
                           f"{100 * measuring:.0f}%", f"{theirs[1]:.1f} s", f"{used / theirs[1]:.2f}"]))
    return lines


def sums(results):
    head = ["rows", "all", "better", "equal", "worse", "not run"]
    lines = [line(head), line(["---"] * len(head))]
    for kind, name in KINDS.items():
        verdicts = [each.get("verdict", "not run") for each in results if each["kind"] == kind]
        lines.append(line([name, len(verdicts), *(verdicts.count(word) for word in head[2:])]))
    return lines


def text(floats, results, pictures):
    """All of it; `floats`: network -> pictures that its float form gets right."""
    parts = sums(results)
    for network, right in floats.items():
        parts += ["", f"{network}, of {pictures:,} pictures; float: {right:,} right.", "",
                  *rows_of(network, results)]
    return "\n".join([*parts, "", *times_of(results)])
